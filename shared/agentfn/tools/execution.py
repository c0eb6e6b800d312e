"""Execution of a single tool call, from the model's arguments to the output."""

import asyncio
import dataclasses
import functools
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from agentfn.errors import ToolError
from agentfn.settings_groups import ToolSettings, default_of
from agentfn.tools.schemas.function_schema import FunctionSignature
from agentfn.tools.threads import contain_exit, run_in_thread
from agentfn.tools.tool import Tool
from agentfn.tools.tool_arguments import ToolCallError, parse_arguments
from agentfn.tools.tool_context import Context, find_suspension
from agentfn.tools.tool_output import Output, to_output

CLEANUP_SECONDS = 0.25  # an async tool may clean up this long after its timeout


@dataclass(frozen=True)
class ToolLimits:
    """`wait_seconds` is how long a call waits for the limiter. `max_parallel_calls` of one turn run at once."""

    timeout_seconds: float = default_of(ToolSettings, "timeout_seconds")
    wait_seconds: float = default_of(ToolSettings, "wait_seconds")
    max_argument_chars: int = default_of(ToolSettings, "max_argument_chars")
    max_output_chars: int = default_of(ToolSettings, "max_output_chars")
    max_parallel_calls: int = default_of(ToolSettings, "max_parallel")


class ArgumentTypeError(Exception):
    """The arguments fit the schema but not the function's types."""

    def __init__(self, call_error: ToolCallError) -> None:
        super().__init__(call_error.message)
        self.call_error = call_error


class ConcurrencyLimiter:
    """Limits the calls that run at once in a process. An abandoned thread counts until it ends."""

    def __init__(self, count: int) -> None:
        self._free = asyncio.Semaphore(count)

    async def acquire(self, seconds: float) -> bool:
        try:
            async with asyncio.timeout(seconds):
                return await self._free.acquire()
        except TimeoutError:
            return False

    def release(self) -> None:
        self._free.release()


async def call_tool(
    tool: Tool, arguments_json: str, context: Context, limits: ToolLimits, limiter: ConcurrencyLimiter
) -> Output | ToolCallError:
    """Runs the tool and returns its output, or the error that the model reads; it never raises a tool's exception.

    `arguments_json` is the text that the model wrote. Raises TaskSuspended if the call has to be made again in another
    run.
    """
    arguments = parse_arguments(arguments_json, tool, limits.max_argument_chars)
    if isinstance(arguments, ToolCallError):
        return arguments
    if not await limiter.acquire(context.deadline.limit(limits.wait_seconds)):
        return ToolCallError(f"{tool.name} found no free worker within {limits.wait_seconds:.0f} s; try again", "busy")
    seconds = context.deadline.limit(tool.timeout_seconds or limits.timeout_seconds)
    context = dataclasses.replace(context, max_output_chars=limits.max_output_chars)
    running = asyncio.ensure_future(_run_tool(tool, arguments, context, limiter))
    running.add_done_callback(lambda done: done.cancelled() or done.exception())  # retrieved, even after the timeout
    try:
        await asyncio.wait({running}, timeout=seconds)
    finally:
        running.cancel()
    if not running.done():
        await asyncio.wait({running}, timeout=CLEANUP_SECONDS)  # for the cleanup of an async tool
        _raise_if_suspended(running)
        return ToolCallError(f"{tool.name} timed out after {seconds:.1f} s", "timed_out")
    return _to_outcome(tool, running)


async def _run_tool(tool: Tool, arguments: dict[str, Any], context: Context, limiter: ConcurrencyLimiter) -> Output:
    if tool.is_async:
        try:
            bind = functools.partial(_bind_arguments, tool, arguments, context)
            value = await _await_tool(tool, await run_in_thread(bind) if tool.file_parameters else bind())
            if value is None or isinstance(value, str):  # a thread costs more than these do
                return to_output(value)
            output: Output = await run_in_thread(functools.partial(to_output, value))
            return output
        finally:
            limiter.release()
    called: Output = await run_in_thread(
        functools.partial(_call_blocking, tool, arguments, context), on_done=limiter.release
    )
    return called


async def _await_tool(tool: Tool, named: dict[str, Any]) -> Any:
    try:
        return await tool.function(**named)
    except (SystemExit, KeyboardInterrupt) as error:
        raise contain_exit(error) from error


def _call_blocking(tool: Tool, arguments: dict[str, Any], context: Context) -> Output:
    return to_output(tool.function(**_bind_arguments(tool, arguments, context)))


def _bind_arguments(tool: Tool, arguments: dict[str, Any], context: Context) -> dict[str, Any]:
    """The keyword arguments of the function: file names as local paths, values in the annotated types. Blocks."""
    named = {
        name: _resolve_paths(value, context) if name in tool.file_parameters else value
        for name, value in arguments.items()
    }
    if tool.signature is not None:
        named = _convert_types(tool.signature, named)
    if tool.context_parameter:
        named[tool.context_parameter] = context
    return named


def _convert_types(signature: FunctionSignature, named: dict[str, Any]) -> dict[str, Any]:
    try:
        return signature.convert(named)
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        path = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in first["loc"])
        raise ArgumentTypeError(ToolCallError(first["msg"], "invalid_arguments", f"${path}")) from None


def _resolve_paths(value: Any, context: Context) -> Any:
    match value:
        case str():
            return context.path(value)
        case list():
            return [_resolve_paths(item, context) for item in value]
        case dict():
            return {key: _resolve_paths(item, context) for key, item in value.items()}
        case _:
            return value


def _raise_if_suspended(running: "asyncio.Future[Output]") -> None:
    error = running.exception() if running.done() and not running.cancelled() else None
    if suspension := find_suspension(error):
        raise suspension


def _to_outcome(tool: Tool, running: "asyncio.Future[Output]") -> Output | ToolCallError:
    if running.cancelled():
        return ToolCallError(f"{tool.name} was cancelled", "cancelled")
    _raise_if_suspended(running)
    error = running.exception()
    if error is None:
        return running.result()
    if isinstance(error, ArgumentTypeError):
        return error.call_error
    if isinstance(error, ToolError):
        return ToolCallError(str(error), "tool_error")
    return ToolCallError(f"{tool.name} failed: {type(error).__name__}: {error}", "tool_failed")
