"""One call of one tool, from the model's arguments to its output."""

import asyncio
import dataclasses
import functools
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from agentfn.errors import ToolError
from agentfn.tools.schemas.function_schema import Signature
from agentfn.tools.threads import harmless, in_thread
from agentfn.tools.tool import Tool
from agentfn.tools.tool_arguments import Mistake, read_arguments
from agentfn.tools.tool_context import Context, paused_in
from agentfn.tools.tool_output import Output, output_of

CLEANUP = 0.25  # seconds that an async tool gets for it when its time is up; a run's own grace is longer


@dataclass(frozen=True)
class ToolLimits:
    """Times in seconds, sizes in characters. `parallel` is how many calls of one turn run at once."""

    seconds: float = 120.0
    wait_seconds: float = 30.0
    argument_chars: int = 200_000
    output_chars: int = 30_000
    parallel: int = 8


class Misfit(Exception):  # noqa: N818 - carries a mistake out of a thread
    """The arguments fit the schema and still not the function's types."""

    def __init__(self, mistake: Mistake) -> None:
        super().__init__(mistake.error)
        self.mistake = mistake


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

    Only Paused is passed on, alone or out of a group: the call is then to be made again in another run.
    `text` is the arguments as the model wrote them.
    """
    arguments = read_arguments(text, tool, limits.argument_chars)
    if isinstance(arguments, Mistake):
        return arguments
    if not await slots.take(context.deadline.clip(limits.wait_seconds)):
        return Mistake(f"{tool.name} found no free worker within {limits.wait_seconds:.0f} s; try again", "busy")
    seconds = context.deadline.clip(tool.seconds or limits.seconds)
    context = dataclasses.replace(context, output_chars=limits.output_chars)
    running = asyncio.ensure_future(_run(tool, arguments, context, slots))
    running.add_done_callback(lambda done: done.cancelled() or done.exception())  # seen, also if it comes too late
    try:
        await asyncio.wait({running}, timeout=seconds)
    finally:
        running.cancel()
    if not running.done():
        await asyncio.wait({running}, timeout=CLEANUP)  # let an async tool clean up; a deaf one is left behind
        _pass_on_a_pause(running)
        return Mistake(f"{tool.name} timed out after {seconds:.1f} s", "timed_out")
    return _outcome(tool, running)


async def _run(tool: Tool, arguments: dict[str, Any], context: Context, slots: Slots) -> Output:
    if tool.asynchronous:
        try:
            bind = functools.partial(_bind, tool, arguments, context)
            value = await _awaited(tool, await in_thread(bind) if tool.files else bind())
            if value is None or isinstance(value, str):  # a thread costs more than these do
                return output_of(value)
            output: Output = await in_thread(functools.partial(output_of, value))
            return output
        finally:
            slots.give()
    called: Output = await in_thread(functools.partial(_call_blocking, tool, arguments, context), done=slots.give)
    return called


async def _awaited(tool: Tool, named: dict[str, Any]) -> Any:
    try:
        return await tool.function(**named)
    except (SystemExit, KeyboardInterrupt) as error:
        raise harmless(error) from error


def _call_blocking(tool: Tool, arguments: dict[str, Any], context: Context) -> Output:
    return output_of(tool.function(**_bind(tool, arguments, context)))


def _bind(tool: Tool, arguments: dict[str, Any], context: Context) -> dict[str, Any]:
    """The arguments as the function takes them: names of files as local paths, types as annotated. Blocks."""
    named = {name: _located(value, context) if name in tool.files else value for name, value in arguments.items()}
    if tool.signature is not None:
        named = _typed(tool.signature, named)
    if tool.context:
        named[tool.context] = context
    return named


def _typed(signature: Signature, named: dict[str, Any]) -> dict[str, Any]:
    try:
        return signature.typed(named)
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        path = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in first["loc"])
        raise Misfit(Mistake(first["msg"], "invalid_arguments", f"${path}")) from None


def _located(value: Any, context: Context) -> Any:
    match value:
        case str():
            return context.path(value)
        case list():
            return [_located(item, context) for item in value]
        case dict():
            return {key: _located(item, context) for key, item in value.items()}
        case _:
            return value


def _pass_on_a_pause(running: "asyncio.Future[Output]") -> None:
    error = running.exception() if running.done() and not running.cancelled() else None
    if paused := paused_in(error):
        raise paused


def _outcome(tool: Tool, running: "asyncio.Future[Output]") -> Output | Mistake:
    if running.cancelled():
        return Mistake(f"{tool.name} was cancelled", "cancelled")
    _pass_on_a_pause(running)
    error = running.exception()
    if error is None:
        return running.result()
    if isinstance(error, Misfit):
        return error.mistake
    if isinstance(error, ToolError):
        return Mistake(str(error), "tool_error")
    return Mistake(f"{tool.name} failed: {type(error).__name__}: {error}", "tool_failed")
