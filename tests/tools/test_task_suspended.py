"""A call that has to go on in another run is no mistake, whatever its Paused is wrapped in."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from agentfn import Context, ToolError, tool
from agentfn.tools import TaskSuspended, Tool
from agentfn.tools.execution import ConcurrencyLimiter, ToolLimits, call_tool
from agentfn.tools.tool_arguments import ToolCallError

pytestmark = pytest.mark.usefixtures("no_waiting")

Work = Callable[[Context], Awaitable[Any]]


class Waiting(TaskSuspended):
    """Waits for its user."""


async def pause() -> None:
    await asyncio.sleep(0)
    raise Waiting("where?")


async def fail() -> None:
    await asyncio.sleep(0)
    raise ValueError("bad")


async def alone(context: Context) -> None:
    await context.run_nested("part", "do")


async def in_a_group(context: Context) -> None:
    async with asyncio.TaskGroup() as group:
        group.create_task(pause())
        group.create_task(asyncio.sleep(30))


async def beside_a_failure(context: Context) -> None:
    async with asyncio.TaskGroup() as group:
        group.create_task(fail())
        group.create_task(pause())


async def in_a_group_of_a_group(context: Context) -> None:
    async with asyncio.TaskGroup() as group:
        group.create_task(in_a_group(context))


async def gathered(context: Context) -> None:
    await asyncio.gather(pause(), pause())


async def while_cleaning_up(context: Context) -> None:
    try:
        await asyncio.sleep(30)
    except asyncio.CancelledError:
        raise Waiting("where?") from None


def tool_of(work: Work) -> Tool:
    @tool(name="work", idempotent=True, timeout_seconds=0.3)
    async def made(context: Context) -> Any:
        """Works."""
        return await work(context)

    return made


@pytest.mark.parametrize(
    "work",
    [alone, in_a_group, beside_a_failure, in_a_group_of_a_group, gathered, while_cleaning_up],
    ids=lambda work: work.__name__,
)
def test_a_pause_travels_out_of_its_call_as_itself(context: Context, work: Work) -> None:
    async def inner(name: str, message: str, **rest: Any) -> Any:
        assert (name, message) == ("call_1/part", "do")
        await pause()

    async def run() -> str:
        slots = ConcurrencyLimiter(1)
        inside = Context("task", "call_1", context.deadline, context.workspace, nested_runner=inner)
        with pytest.raises(Waiting, match=r"where\?"):
            await call_tool(tool_of(work), "{}", inside, ToolLimits(), slots)
        assert await slots.acquire(1)  # it gave its slot back
        return "the event loop goes on"

    assert asyncio.run(run()) == "the event loop goes on"


def test_a_pause_in_a_thread_travels_too(call: Any) -> None:
    @tool
    def sync() -> None:
        """Pauses."""
        raise Waiting("where?")

    @tool
    def grouped() -> None:
        """Pauses."""
        raise BaseExceptionGroup("two", [ValueError("bad"), Waiting("where?")])

    for made in (sync, grouped):
        with pytest.raises(Waiting, match=r"where\?"):
            call(made)


def test_a_tool_that_swallows_its_pause_has_its_own_way(call: Any) -> None:
    @tool
    async def stubborn() -> str:
        """Goes on."""
        try:
            await pause()
        except TaskSuspended:
            raise ToolError("not now") from None
        return ""

    assert call(stubborn) == ToolCallError("not now", "tool_error")


def test_a_group_of_failures_is_a_mistake(call: Any) -> None:
    @tool
    async def work() -> None:
        """Fails."""
        async with asyncio.TaskGroup() as group:
            group.create_task(fail())

    mistake = call(work)
    assert mistake.error_type == "tool_failed"
    assert "ExceptionGroup" in mistake.message


def test_without_a_loop_around_it_an_inner_loop_is_a_mistake(call: Any) -> None:
    assert "there is no loop here that 'call_1/part' could be run inside of" in call(tool_of(alone)).message
