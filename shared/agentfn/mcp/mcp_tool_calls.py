"""Tool calls by MCP, outside of any task. Files come with the arguments, as URLs or data URIs."""

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
from agentfn.tools.output_renderer import save_files, truncate_output
from agentfn.tools.tool_arguments import ToolCallError, parse_arguments
from agentfn.tools.tool_output import find_link

SOURCE_PREFIXES = ("http://", "https://", "data:")
NO_SOURCE = (
    "a file is given by its http(s) address, or with its content as a data URI: data:text/csv;name=table.csv;base64,…"
)
USE_TASK_HINT = "; a task has more time: send the agent a message instead"


@dataclass(frozen=True)
class McpToolOutput:
    """The output of a call. `text` is truncated if it exceeds the limit, and then `complete` is False."""

    text: str
    files: tuple[tuple[FileRecord, str], ...]  # each with a URL for its download
    complete: bool = True


class McpToolCaller:
    """Calls tools with the limits and the concurrency limiter of the loop."""

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
        """Calls the tool. `arguments` hold a URL or data URI for each file.

        Files that the tool produces are stored in the owner's folder of the bucket.
        """
        call_id = uuid4().hex
        with TaskWorkspace(self._bucket, f"{self._agent_name}/{owner}/mcp/{call_id}/") as workspace:
            context = Context(call_id, "mcp", deadline, workspace, nested_runner=_refuse_nested)
            outcome = await self._run_tool(tool, arguments, workspace, context)
            if isinstance(outcome, ToolCallError):
                return outcome
            return await asyncio.to_thread(self._save_output, outcome, workspace, f"output-{call_id}.txt")

    async def _run_tool(
        self, tool: Tool, arguments: dict[str, Any], workspace: TaskWorkspace, context: Context
    ) -> Output | ToolCallError:
        limits, deadline = self._limits, context.deadline
        sent = {name: arguments[name] for name in tool.file_parameters if name in arguments}
        checked = parse_arguments(_to_json_text(arguments), tool, limits.max_argument_chars + len(_to_json_text(sent)))
        if isinstance(checked, ToolCallError):  # before any file is fetched
            return checked
        try:
            file_names = await self._attach_files(sent, workspace, deadline)
        except FileRejected as error:
            return ToolCallError(str(error), "file_refused")
        if deadline.remaining() < MIN_START_SECONDS[tool.idempotent]:
            return ToolCallError(f"{tool.name} was not run: its time was over before{USE_TASK_HINT}", "out_of_time")
        try:
            outcome = await call_tool(tool, _to_json_text(arguments | file_names), context, limits, self._limiter)
        except TaskSuspended:
            return ToolCallError(f"{tool.name} needs a task: send the agent a message instead", "needs_task")
        if isinstance(outcome, ToolCallError) and outcome.error_type == "timed_out" and deadline.passed:
            return ToolCallError(outcome.message + USE_TASK_HINT, outcome.error_type)
        return outcome

    async def _attach_files(self, sent: dict[str, Any], workspace: TaskWorkspace, deadline: Deadline) -> dict[str, Any]:
        """Fetches the files of the arguments. Returns these arguments with file names. Raises FileRejected."""
        seconds = deadline.limit(self._settings.fetch.timeout_seconds)
        try:
            async with asyncio.timeout(seconds):
                return {name: await self._attach_value(value, name, workspace) for name, value in sent.items()}
        except TimeoutError:
            raise FileRejected(f"the files of the call did not come within {seconds:.1f} s") from None

    async def _attach_value(self, value: Any, name: str, workspace: TaskWorkspace) -> Any:
        match value:
            case str():
                try:
                    return await self._attach_source(value, workspace)
                except FileRejected as error:
                    raise FileRejected(f"{name}: {error}") from None
            case list():
                return [await self._attach_value(item, name, workspace) for item in value]
            case dict():
                return {key: await self._attach_value(item, name, workspace) for key, item in value.items()}
            case _:
                return value

    async def _attach_source(self, source: str, workspace: TaskWorkspace) -> str:
        limits, attached = self._settings.message, workspace.records
        if not source.lower().startswith(SOURCE_PREFIXES):
            raise FileRejected(NO_SOURCE)
        if len(attached) >= limits.max_files:
            raise FileRejected(f"the call has too many files; {limits.max_files} are allowed")
        remaining = limits.max_total_file_bytes - sum(record.size for record in attached)
        file = await fetch_source(source, self._fetcher, max_bytes=min(limits.max_file_bytes, remaining))
        return (await asyncio.to_thread(workspace.attach, file)).name

    def _save_output(self, output: Output, workspace: TaskWorkspace, full_text_name: str) -> McpToolOutput:
        """Saves the files of the output, and its full text if it is too long. Blocks."""
        text, max_chars = output.render(), self._limits.max_output_chars
        save_files(workspace, output, find_link(text))
        complete = len(text) <= max_chars
        if not complete:
            workspace.save_file(File(full_text_name, text.encode(), "text/plain"))
            text = truncate_output(text, max_chars, f"{full_text_name} has the whole")
        presign = self._bucket.presigned_url
        files = tuple((record, record.url or presign(record.key)) for record in workspace.produced)
        return McpToolOutput(text, files, complete)


async def _refuse_nested(name: str, message: str, *, instructions: str = "", tools: Iterable[str] = ()) -> NestedResult:
    raise TaskSuspended


def _to_json_text(arguments: dict[str, Any]) -> str:
    return json.dumps(arguments, ensure_ascii=False)
