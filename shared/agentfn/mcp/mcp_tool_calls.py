"""A tool's call from outside any task: a workspace of its own, and files that come with the arguments."""

import asyncio
import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

from agentfn.deadline import Deadline
from agentfn.errors import FileRefused
from agentfn.files import Fetcher, TaskFiles, fetch_source
from agentfn.loop.tool_calls.tool_executor import SHORTEST_START
from agentfn.runs.runner import Runner
from agentfn.tools import Context, File, FileRecord, Outcome, Output, Paused, Tool
from agentfn.tools.execution import call_tool
from agentfn.tools.tool_arguments import Mistake, read_arguments
from agentfn.tools.tool_output import link_in

SOURCES = ("http://", "https://", "data:")
NO_SOURCE = (
    "a file is given by its http(s) address, or with its content as a data URI: data:text/csv;name=table.csv;base64,…"
)
LONGER = "; a task has more time: send the agent a message instead"


@dataclass(frozen=True)
class Answer:
    """What a call came to: `text` is cut at the limit of a result, and then `whole` is False."""

    text: str
    files: tuple[tuple[FileRecord, str], ...]  # each with an address to get it from
    whole: bool = True


class Calls:
    """Calls of tools by the limits that the loop's calls have, in the same slots."""

    def __init__(self, runner: Runner) -> None:
        self._runner = runner
        self._fetcher = Fetcher.of(runner.settings)

    async def make(self, tool: Tool, arguments: dict[str, Any], owner: str, deadline: Deadline) -> Answer | Mistake:
        """`arguments` as the caller sent them, with a source in the place of each file. What the call produces is kept
        in the owner's folder of the bucket.
        """
        call_id = uuid4().hex
        with TaskFiles(self._runner.bucket, f"{self._runner.agent.name}/{owner}/mcp/{call_id}/") as files:
            outcome = await self._outcome(
                tool, arguments, files, Context(call_id, "mcp", deadline, files, inner=_no_task)
            )
            if isinstance(outcome, Mistake):
                return outcome
            return await asyncio.to_thread(self._answer, outcome, files, f"output-{call_id}.txt")

    async def _outcome(
        self, tool: Tool, arguments: dict[str, Any], files: TaskFiles, context: Context
    ) -> Output | Mistake:
        limits, deadline = self._runner.limits.tools, context.deadline
        sent = {name: arguments[name] for name in tool.files if name in arguments}
        checked = read_arguments(_text(arguments), tool, limits.argument_chars + len(_text(sent)))
        if isinstance(checked, Mistake):  # before anything is fetched for it
            return checked
        try:
            named = await self._attached(sent, files, deadline)
        except FileRefused as refused:
            return Mistake(str(refused), "file_refused")
        if deadline.left() < SHORTEST_START[tool.idempotent]:
            return Mistake(f"{tool.name} was not run: its time was over before{LONGER}", "out_of_time")
        try:
            outcome = await call_tool(tool, _text(arguments | named), context, limits, self._runner.slots)
        except Paused:
            return Mistake(f"{tool.name} needs a task: send the agent a message instead", "needs_task")
        if isinstance(outcome, Mistake) and outcome.kind == "timed_out" and deadline.passed:
            return Mistake(outcome.error + LONGER, outcome.kind)
        return outcome

    async def _attached(self, sent: dict[str, Any], files: TaskFiles, deadline: Deadline) -> dict[str, Any]:
        """The arguments that are files, by their names in the workspace. Raises FileRefused."""
        seconds = deadline.clip(self._runner.settings.fetch_seconds)
        try:
            async with asyncio.timeout(seconds):
                return {name: await self._placed(value, name, files) for name, value in sent.items()}
        except TimeoutError:
            raise FileRefused(f"the files of the call did not come within {seconds:.1f} s") from None

    async def _placed(self, value: Any, name: str, files: TaskFiles) -> Any:
        match value:
            case str():
                try:
                    return await self._taken(value, files)
                except FileRefused as refused:
                    raise FileRefused(f"{name}: {refused}") from None
            case list():
                return [await self._placed(item, name, files) for item in value]
            case dict():
                return {key: await self._placed(item, name, files) for key, item in value.items()}
            case _:
                return value

    async def _taken(self, source: str, files: TaskFiles) -> str:
        settings, taken = self._runner.settings, files.records
        if not source.lower().startswith(SOURCES):
            raise FileRefused(NO_SOURCE)
        if len(taken) >= settings.max_files:
            raise FileRefused(f"the call has too many files; {settings.max_files} are allowed")
        left = settings.max_files_size - sum(record.size for record in taken)
        file = await fetch_source(source, self._fetcher, limit=min(settings.max_file_size, left))
        return (await asyncio.to_thread(files.attach, file)).name

    def _answer(self, output: Output, files: TaskFiles, name: str) -> Answer:
        """Stores what is to be kept. Blocks."""
        text, limit = output.render(), self._runner.limits.tools.output_chars
        for file in output.files:
            files.keep(file)
        if elsewhere := link_in(text):
            files.link(elsewhere)
        cut = len(text) > limit
        if cut:
            files.keep(File(name, text.encode(), "text/plain"))
            missing = f"{len(text) - limit:,} of {len(text):,} characters are missing; {name} has the whole"
            text = f"{text[:limit]}\n… ({missing})"
        produced = [record for record in files.records if record.origin == "produced"]
        link = self._runner.bucket.link
        return Answer(text, tuple((record, record.url or link(record.key)) for record in produced), not cut)


async def _no_task(name: str, message: str, *, instructions: str = "", tools: Iterable[str] = ()) -> Outcome:
    raise Paused


def _text(arguments: dict[str, Any]) -> str:
    return json.dumps(arguments, ensure_ascii=False)
