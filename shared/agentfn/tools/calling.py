"""One call of one tool, from the model's arguments to its output."""

import asyncio
import functools
from dataclasses import dataclass
from typing import Any

from agentfn.errors import ToolError
from agentfn.tools.arguments import Mistake, read_arguments
from agentfn.tools.context import Context
from agentfn.tools.output import Output, output_of
from agentfn.tools.threads import in_thread
from agentfn.tools.tool import Tool


@dataclass(frozen=True)
class ToolLimits:
    """Times in seconds, sizes in characters. `parallel` is for one turn, `process` for everything in this process."""

    seconds: float = 120.0
    wait_seconds: float = 30.0
    argument_chars: int = 200_000
    output_chars: int = 30_000
    parallel: int = 8
    process: int = 16


class Slots:
    """How many calls may run at once in this process. A thread that was abandoned keeps its slot until it ends."""

    def __init__(self, count: int) -> None:
        self._free = asyncio.Semaphore(count)

    async def take(self, seconds: float) -> bool:
        try:
            async with asyncio.timeout(seconds):
                return await self._free.acquire()
        except TimeoutError:
            return False

    def give(self) -> None:
        self._free.release()


async def call_tool(tool: Tool, text: str, context: Context, limits: ToolLimits, slots: Slots) -> Output | Mistake:
    """Whatever a tool does, this returns: its output, or the mistake that the model is told of.

    `text` is the arguments as the model wrote them.
    """
    arguments = read_arguments(text, tool, limits.argument_chars)
    if isinstance(arguments, Mistake):
        return arguments
    if not await slots.take(context.deadline.clip(limits.wait_seconds)):
        return Mistake(f"{tool.name} found no free worker within {limits.wait_seconds:.0f} s; try again", "busy")
    seconds = context.deadline.clip(tool.seconds or limits.seconds)
    running = asyncio.ensure_future(_run(tool, arguments, context, slots))
    try:
        await asyncio.wait({running}, timeout=seconds)
    finally:
        running.cancel()
    if not running.done():
        await asyncio.wait({running}, timeout=1.0)  # let an async tool clean up; a deaf one is left behind
        return Mistake(f"{tool.name} timed out after {seconds:.1f} s", "timed_out")
    return _outcome(tool, running)


async def _run(tool: Tool, arguments: dict[str, Any], context: Context, slots: Slots) -> Output:
    if tool.asynchronous:
        try:
            named = await in_thread(functools.partial(_bind, tool, arguments, context))
            return output_of(await tool.function(**named))
        finally:
            slots.give()
    work = functools.partial(_call_blocking, tool, arguments, context)
    return output_of(await in_thread(work, done=slots.give))


def _call_blocking(tool: Tool, arguments: dict[str, Any], context: Context) -> Any:
    return tool.function(**_bind(tool, arguments, context))


def _bind(tool: Tool, arguments: dict[str, Any], context: Context) -> dict[str, Any]:
    """The arguments as the function takes them: names of files as local paths, types as annotated. Blocks."""
    named = {name: _located(value, context) if name in tool.files else value for name, value in arguments.items()}
    if tool.signature is not None:
        model = tool.signature.arguments.model_validate(named)
        named = {name: getattr(model, name) for name in type(model).model_fields}
    if tool.context:
        named[tool.context] = context
    return named


def _located(value: Any, context: Context) -> Any:
    if isinstance(value, list):
        return [context.path(name) for name in value]
    return context.path(value) if isinstance(value, str) else value


def _outcome(tool: Tool, running: "asyncio.Future[Output]") -> Output | Mistake:
    if running.cancelled():
        return Mistake(f"{tool.name} was cancelled", "cancelled")
    error = running.exception()
    if error is None:
        return running.result()
    if isinstance(error, ToolError):
        return Mistake(str(error), "tool_error")
    return Mistake(f"{tool.name} failed: {type(error).__name__}: {error}", "tool_failed")
