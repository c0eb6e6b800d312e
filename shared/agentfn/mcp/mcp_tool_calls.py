"""A tool's call from outside any task: a workspace of its own, and files that come with the arguments."""

import asyncio
import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

from agentfn.deadline import Deadline
from agentfn.errors import FileRejected
from agentfn.fetch import Fetcher, fetch_source
from agentfn.files import Bucket, TaskWorkspace
from agentfn.loop.tool_calls.tool_executor import MIN_START_SECONDS
from agentfn.settings import Settings
from agentfn.tools import Context, File, FileRecord, NestedResult, Output, TaskSuspended, Tool
from agentfn.tools.execution import ConcurrencyLimiter, ToolLimits, call_tool
from agentfn.tools.tool_arguments import ToolCallError, parse_arguments
from agentfn.tools.tool_output import find_link

SOURCE_PREFIXES = ("http://", "https://", "data:")
NO_SOURCE = (
    "a file is given by its http(s) address, or with its content as a data URI: data:text/csv;name=table.csv;base64,…"
)
USE_TASK_HINT = "; a task has more time: send the agent a message instead"


@dataclass(frozen=True)
class McpToolOutput:
    """What a call came to: `text` is cut at the limit of a result, and then `whole` is False."""

    text: str
    files: tuple[tuple[FileRecord, str], ...]  # each with an address to get it from
    complete: bool = True


class McpToolCaller:
    """Calls of tools by the limits that the loop's calls have, in the same slots."""

    def __init__(
        self, agent_name: str, settings: Settings, bucket: Bucket, limits: ToolLimits, limiter: ConcurrencyLimiter
    ) -> None:
        self._agent_name = agent_name
        self._settings = settings
        self._bucket = bucket
        self._limits = limits
        self._limiter = limiter
        self._fetcher = Fetcher.from_settings(settings)

    async def call(
        self, tool: Tool, arguments: dict[str, Any], owner: str, deadline: Deadline
    ) -> McpToolOutput | ToolCallError:
        """`arguments` as the caller sent them, with a source in the place of each file. What the call produces is kept
        in the owner's folder of the bucket.
        """
        call_id = uuid4().hex
        with TaskWorkspace(self._bucket, f"{self._agent_name}/{owner}/mcp/{call_id}/") as files:
            outcome = await self._run_tool(
                tool, arguments, files, Context(call_id, "mcp", deadline, files, nested_runner=_refuse_nested)
            )
            if isinstance(outcome, ToolCallError):
                return outcome
            return await asyncio.to_thread(self._build_output, outcome, files, f"output-{call_id}.txt")

    async def _run_tool(
        self, tool: Tool, arguments: dict[str, Any], files: TaskWorkspace, context: Context
    ) -> Output | ToolCallError:
        limits, deadline = self._limits, context.deadline
        sent = {name: arguments[name] for name in tool.file_parameters if name in arguments}
        checked = parse_arguments(_to_json_text(arguments), tool, limits.max_argument_chars + len(_to_json_text(sent)))
        if isinstance(checked, ToolCallError):  # before anything is fetched for it
            return checked
        try:
            named = await self._attach_files(sent, files, deadline)
        except FileRejected as refused:
            return ToolCallError(str(refused), "file_refused")
        if deadline.remaining() < MIN_START_SECONDS[tool.idempotent]:
            return ToolCallError(f"{tool.name} was not run: its time was over before{USE_TASK_HINT}", "out_of_time")
        try:
            outcome = await call_tool(tool, _to_json_text(arguments | named), context, limits, self._limiter)
        except TaskSuspended:
            return ToolCallError(f"{tool.name} needs a task: send the agent a message instead", "needs_task")
        if isinstance(outcome, ToolCallError) and outcome.error_type == "timed_out" and deadline.passed:
            return ToolCallError(outcome.message + USE_TASK_HINT, outcome.error_type)
        return outcome

    async def _attach_files(self, sent: dict[str, Any], files: TaskWorkspace, deadline: Deadline) -> dict[str, Any]:
        """The arguments that are files, by their names in the workspace. Raises FileRefused."""
        seconds = deadline.limit(self._settings.fetch.timeout_seconds)
        try:
            async with asyncio.timeout(seconds):
                return {name: await self._attach_value(value, name, files) for name, value in sent.items()}
        except TimeoutError:
            raise FileRejected(f"the files of the call did not come within {seconds:.1f} s") from None

    async def _attach_value(self, value: Any, name: str, files: TaskWorkspace) -> Any:
        match value:
            case str():
                try:
                    return await self._attach_source(value, files)
                except FileRejected as refused:
                    raise FileRejected(f"{name}: {refused}") from None
            case list():
                return [await self._attach_value(item, name, files) for item in value]
            case dict():
                return {key: await self._attach_value(item, name, files) for key, item in value.items()}
            case _:
                return value

    async def _attach_source(self, source: str, files: TaskWorkspace) -> str:
        settings, taken = self._settings, files.records
        if not source.lower().startswith(SOURCE_PREFIXES):
            raise FileRejected(NO_SOURCE)
        if len(taken) >= settings.message.max_files:
            raise FileRejected(f"the call has too many files; {settings.message.max_files} are allowed")
        left = settings.message.max_total_file_bytes - sum(record.size for record in taken)
        file = await fetch_source(source, self._fetcher, max_bytes=min(settings.message.max_file_bytes, left))
        return (await asyncio.to_thread(files.attach, file)).name

    def _build_output(self, output: Output, files: TaskWorkspace, name: str) -> McpToolOutput:
        """Stores what is to be kept. Blocks."""
        text, limit = output.render(), self._limits.max_output_chars
        for file in output.files:
            files.save_file(file)
        if elsewhere := find_link(text):
            files.add_link(elsewhere)
        cut = len(text) > limit
        if cut:
            files.save_file(File(name, text.encode(), "text/plain"))
            missing = f"{len(text) - limit:,} of {len(text):,} characters are missing; {name} has the whole"
            text = f"{text[:limit]}\n… ({missing})"
        produced = [record for record in files.records if record.origin == "produced"]
        link = self._bucket.presigned_url
        return McpToolOutput(text, tuple((record, record.url or link(record.key)) for record in produced), not cut)


async def _refuse_nested(name: str, message: str, *, instructions: str = "", tools: Iterable[str] = ()) -> NestedResult:
    raise TaskSuspended


def _to_json_text(arguments: dict[str, Any]) -> str:
    return json.dumps(arguments, ensure_ascii=False)
