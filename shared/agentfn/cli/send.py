"""One message to an agent: sent, watched, and what came of it on disk."""

import asyncio
import mimetypes
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from uuid import uuid4

from a2a.client import Client
from a2a.client.errors import A2AClientError
from a2a.types import Artifact, GetTaskRequest, Message, Part, Role, SendMessageRequest, Task

from agentfn.cli.client import explained, is_passing, talking
from agentfn.cli.download import Folder, Saved, check_output
from agentfn.cli.progress import WAITS, Progress, rests, state_of, text_of
from agentfn.cli.terminal import Show, Stop, command, harmless, table
from agentfn.cli.upload import HERE, upload_all

FIRST_WAIT, LONGEST_WAIT, GROWTH = 0.3, 2.0, 1.3  # seconds between two looks at the task
MOST_MISSES = 5  # looks in a row that may go wrong
MOST_INSIDE = 4_000_000  # bytes of files in a message: a third is added on the way, and Lambda takes 6 MB

COMPLETED, NOT_COMPLETED, WAITING = 0, 1, 3


@dataclass(frozen=True)
class Outcome:
    """`state` is as people say it. `code` is the exit code: 0 for a completed task all of whose files came."""

    state: str
    task_id: str
    text: str
    saved: tuple[Saved, ...] = ()

    @property
    def code(self) -> int:
        if self.state in WAITS:
            return WAITING
        whole = self.state == "completed" and not any(one.error for one in self.saved)
        return COMPLETED if whole else NOT_COMPLETED


def send(
    url: str, token: str, text: str, files: Iterable[Path], output: Path, show: Show, *, task_id: str = ""
) -> Outcome:
    """Sends a message, shows how the task goes on until it rests, and downloads its artifacts.

    With a task id it is the answer to a task that waits; with that and no text or file, it only looks on. Raises Stop.
    """
    message = compose(text, files, task_id)
    check_output(output)
    with asyncio.Runner() as runner:
        answer = runner.run(_converse(url, token, message, show))
    made, artifacts = _read(answer)
    outcome = replace(made, saved=tuple(Folder(output).save(artifacts)))
    _report(outcome, url, output, show)
    return outcome


def compose(text: str, files: Iterable[Path], task_id: str = "") -> Message:
    """Raises Stop for a file that cannot be read, and for a message that says nothing.

    Files that do not fit into it are named by where they are: they have to be uploaded before it is sent.
    """
    parts = [Part(text=text)] if text.strip() else []
    left = MOST_INSIDE
    for path in files:
        parts.append(_attached(path, left))
        left -= len(parts[-1].raw)
    if not parts and not task_id:
        raise Stop("there is nothing to send: write a question, or attach a file with --file", 2)
    return Message(message_id=str(uuid4()), role=Role.ROLE_USER, parts=parts, task_id=task_id)


def _attached(path: Path, left: int) -> Part:
    """`left` is how many bytes the message still takes."""
    media_type = mimetypes.guess_type(path.name)[0] or "application/octet-stream"
    try:
        if path.is_file() and path.stat().st_size > left:
            return Part(url=f"{HERE}{path}", filename=path.name, media_type=media_type)
        content = path.read_bytes()
    except OSError as error:
        raise Stop(f"the file {path} cannot be read: {error.strerror}", 2) from None
    if not content:
        raise Stop(f"the file {path} is empty", 2)
    return Part(raw=content, filename=path.name, media_type=media_type)


async def _converse(url: str, token: str, message: Message, show: Show) -> Task | Message:
    """The task at rest, or the message that the agent answered with in its place."""
    async with talking(url, token) as (client, card):
        show(f"{harmless(card.name)} at {url}")
        message = await upload_all(message, url, token, show)
        task = await _begin(client, url, message) if message.parts else Task(id=message.task_id)
        if isinstance(task, Message):
            return task
        try:
            return await _watch(client, url, task, Progress(show))
        except asyncio.CancelledError:
            show(f"\nThe task goes on without you. To look at it again: {command()} send {url} --task {task.id}")
            raise


async def _begin(client: Client, url: str, message: Message) -> Task | Message:
    with explained(url):
        async for answer in client.send_message(SendMessageRequest(message=message)):
            return answer.task if answer.HasField("task") else answer.message
    raise Stop("the agent gave no answer")


async def _watch(client: Client, url: str, task: Task, progress: Progress) -> Task:
    """Looks at the task ever less often, until it rests. Some looks may go wrong: networks do."""
    pause, misses = FIRST_WAIT, 0
    if task.status.state:
        progress.tell(task)
    while not rests(task):
        if task.status.state:
            await asyncio.sleep(pause)
            pause = min(LONGEST_WAIT, pause * GROWTH)
        with explained(url):
            try:
                task, misses = await client.get_task(GetTaskRequest(id=task.id, history_length=0)), 0
            except A2AClientError as error:
                misses += 1
                if not is_passing(error) or misses > MOST_MISSES:
                    raise
                await asyncio.sleep(pause)
        progress.tell(task)
    return task


def _read(answer: Task | Message) -> tuple[Outcome, list[Artifact]]:
    if isinstance(answer, Task):
        return Outcome(state_of(answer), answer.id, text_of(answer.status.message)), list(answer.artifacts)
    parts = [part for part in answer.parts if not part.HasField("text")]
    return Outcome("completed", "", text_of(answer)), [Artifact(name="answer", parts=parts)]


def _report(outcome: Outcome, url: str, output: Path, show: Show) -> None:
    show("")
    headings = {"input required": "The agent asks:", "auth required": "The agent needs access:"}
    if outcome.state not in ("completed", *WAITS):
        show(f"The task ended as {outcome.state}: {outcome.text or 'the agent gave no reason'}")
    elif outcome.text:
        if outcome.state in headings:
            show(headings[outcome.state])
        show(outcome.text)
    if outcome.saved:
        show(f"\nFiles in {output}:")
        for line in table([_row(saved) for saved in outcome.saved]):
            show(line.rstrip())
    if outcome.state in WAITS:
        show(f'\nTo answer: {command()} send {url} "your answer" --task {outcome.task_id}')


def _row(saved: Saved) -> tuple[str, str, str]:
    media_type = harmless(saved.media_type) or "-"
    return saved.path.name, media_type, f"not downloaded: {saved.error}" if saved.error else f"{saved.size:,} bytes"
