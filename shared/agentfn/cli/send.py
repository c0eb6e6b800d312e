"""`agentfn send`: sends a message to an agent, follows the task and saves its files."""

import asyncio
import mimetypes
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from uuid import uuid4

from a2a.client import Client
from a2a.client.errors import A2AClientError
from a2a.types import Artifact, GetTaskRequest, Message, Part, Role, SendMessageRequest, Task

from agentfn.cli.client import connect, is_retryable, map_client_errors
from agentfn.cli.download import OutputFolder, SavedFile, check_output_folder
from agentfn.cli.progress import (
    INTERRUPTED_STATES,
    ProgressPrinter,
    is_finished_or_interrupted,
    message_text,
    state_name,
)
from agentfn.cli.terminal import CliError, PrintLine, command_name, format_table, strip_control_chars
from agentfn.cli.upload import LOCAL_FILE_SCHEME, upload_files

MIN_POLL_SECONDS, MAX_POLL_SECONDS, POLL_BACKOFF_FACTOR = 0.3, 2.0, 1.3  # between two polls of the task
MAX_FAILED_POLLS = 5  # consecutive polls that may fail
MAX_INLINE_BYTES = 4_000_000  # of files in a message: base64 adds a third, and Lambda takes 6 MB

EXIT_COMPLETED, EXIT_NOT_COMPLETED, EXIT_INPUT_REQUIRED = 0, 1, 3


@dataclass(frozen=True)
class SendResult:
    """A task's result. `state` is such as "input required". `exit_code` is 0 if it completed with all files saved."""

    state: str
    task_id: str
    text: str
    saved_files: tuple[SavedFile, ...] = ()

    @property
    def exit_code(self) -> int:
        if self.state in INTERRUPTED_STATES:
            return EXIT_INPUT_REQUIRED
        whole = self.state == "completed" and not any(one.error for one in self.saved_files)
        return EXIT_COMPLETED if whole else EXIT_NOT_COMPLETED


def send_message(
    url: str, token: str, text: str, files: Iterable[Path], output: Path, show: PrintLine, *, task_id: str = ""
) -> SendResult:
    """Sends a message, prints the task's progress until it ends or waits, and downloads its artifacts.

    With a task id the message answers a waiting task; without text and files it only polls it. Raises CliError.
    """
    message = compose_message(text, files, task_id)
    check_output_folder(output)
    with asyncio.Runner() as runner:
        answer = runner.run(_send_and_wait(url, token, message, show))
    made, artifacts = _read_result(answer)
    outcome = replace(made, saved_files=tuple(OutputFolder(output).save(artifacts)))
    _print_result(outcome, url, output, show)
    return outcome


def compose_message(text: str, files: Iterable[Path], task_id: str = "") -> Message:
    """The message to send. Raises CliError for a file that cannot be read, and for an empty message.

    Files that are too large for the message are referred to by their local path, and uploaded before it is sent.
    """
    parts = [Part(text=text)] if text.strip() else []
    left = MAX_INLINE_BYTES
    for path in files:
        parts.append(_file_part(path, left))
        left -= len(parts[-1].raw)
    if not parts and not task_id:
        raise CliError("there is nothing to send: write a question, or attach a file with --file", 2)
    return Message(message_id=str(uuid4()), role=Role.ROLE_USER, parts=parts, task_id=task_id)


def _file_part(path: Path, remaining_bytes: int) -> Part:
    """`left` is the space that is left in the message."""
    media_type = mimetypes.guess_type(path.name)[0] or "application/octet-stream"
    try:
        if path.is_file() and path.stat().st_size > remaining_bytes:
            return Part(url=f"{LOCAL_FILE_SCHEME}{path}", filename=path.name, media_type=media_type)
        content = path.read_bytes()
    except OSError as error:
        raise CliError(f"the file {path} cannot be read: {error.strerror}", 2) from None
    if not content:
        raise CliError(f"the file {path} is empty", 2)
    return Part(raw=content, filename=path.name, media_type=media_type)


async def _send_and_wait(url: str, token: str, message: Message, show: PrintLine) -> Task | Message:
    """The task when it ended or waits, or the message that the agent replied with instead."""
    async with connect(url, token) as (client, card):
        show(f"{strip_control_chars(card.name)} at {url}")
        message = await upload_files(message, url, token, show)
        task = await _send(client, url, message) if message.parts else Task(id=message.task_id)
        if isinstance(task, Message):
            return task
        try:
            return await _poll_task(client, url, task, ProgressPrinter(show))
        except asyncio.CancelledError:
            show(f"\nThe task goes on without you. To look at it again: {command_name()} send {url} --task {task.id}")
            raise


async def _send(client: Client, url: str, message: Message) -> Task | Message:
    with map_client_errors(url):
        async for answer in client.send_message(SendMessageRequest(message=message)):
            return answer.task if answer.HasField("task") else answer.message
    raise CliError("the agent sent no response")


async def _poll_task(client: Client, url: str, task: Task, progress: ProgressPrinter) -> Task:
    """Polls the task with growing pauses until it ends or waits. Tolerates a few failed polls in a row."""
    pause, misses = MIN_POLL_SECONDS, 0
    if task.status.state:
        progress.update(task)
    while not is_finished_or_interrupted(task):
        if task.status.state:
            await asyncio.sleep(pause)
            pause = min(MAX_POLL_SECONDS, pause * POLL_BACKOFF_FACTOR)
        with map_client_errors(url):
            try:
                task, misses = await client.get_task(GetTaskRequest(id=task.id, history_length=0)), 0
            except A2AClientError as error:
                misses += 1
                if not is_retryable(error) or misses > MAX_FAILED_POLLS:
                    raise
                await asyncio.sleep(pause)
        progress.update(task)
    return task


def _read_result(answer: Task | Message) -> tuple[SendResult, list[Artifact]]:
    if isinstance(answer, Task):
        return SendResult(state_name(answer), answer.id, message_text(answer.status.message)), list(answer.artifacts)
    parts = [part for part in answer.parts if not part.HasField("text")]
    return SendResult("completed", "", message_text(answer)), [Artifact(name="answer", parts=parts)]


def _print_result(outcome: SendResult, url: str, output: Path, show: PrintLine) -> None:
    show("")
    headings = {"input required": "The agent asks:", "auth required": "The agent needs access:"}
    if outcome.state not in ("completed", *INTERRUPTED_STATES):
        show(f"The task ended as {outcome.state}: {outcome.text or 'the agent gave no reason'}")
    elif outcome.text:
        if outcome.state in headings:
            show(headings[outcome.state])
        show(outcome.text)
    if outcome.saved_files:
        show(f"\nFiles in {output}:")
        for line in format_table([_file_row(saved) for saved in outcome.saved_files]):
            show(line.rstrip())
    if outcome.state in INTERRUPTED_STATES:
        show(f'\nTo answer: {command_name()} send {url} "your answer" --task {outcome.task_id}')


def _file_row(saved: SavedFile) -> tuple[str, str, str]:
    media_type = strip_control_chars(saved.media_type) or "-"
    return saved.path.name, media_type, f"not downloaded: {saved.error}" if saved.error else f"{saved.size:,} bytes"
