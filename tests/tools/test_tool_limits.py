"""How long a call may take, and how many there may be at once."""

import asyncio
import dataclasses
import threading
import time
from typing import Any

import pytest

from agentfn import Context, Deadline, tool
from agentfn.tools import Tool
from agentfn.tools.execution import ConcurrencyLimiter, ToolLimits, call_tool
from agentfn.tools.tool_arguments import ToolCallError


def test_a_sync_tool_that_does_not_end_is_left_behind(context: Context) -> None:
    freed = threading.Event()

    @tool(timeout_seconds=0.2)
    def stuck() -> str:
        """Hangs."""
        freed.wait(60)
        return "late"

    async def run() -> None:
        slots = ConcurrencyLimiter(1)
        started = time.monotonic()
        mistake = await call_tool(stuck, "{}", context, ToolLimits(), slots)
        assert isinstance(mistake, ToolCallError)
        assert (mistake.error_type, mistake.message) == ("timed_out", "stuck timed out after 0.2 s")
        assert time.monotonic() - started < 30
        busy = await call_tool(stuck, "{}", context, ToolLimits(wait_seconds=0.05), slots)
        assert isinstance(busy, ToolCallError)
        assert busy.error_type == "busy"  # the thread that was left behind keeps its slot
        freed.set()
        assert await slots.acquire(30)  # and gives it back when it ends

    asyncio.run(run())


def test_a_thread_may_outlive_the_loop_that_started_it(call: Any) -> None:
    freed, ended = threading.Event(), threading.Event()

    @tool(timeout_seconds=0.05)
    def stuck() -> str:
        """Hangs."""
        freed.wait(60)
        threading.Timer(0.05, ended.set).start()
        return "late"

    assert call(stuck).error_type == "timed_out"
    freed.set()  # the loop is closed by now
    assert ended.wait(30)


@pytest.mark.usefixtures("no_waiting")
def test_an_async_tool_is_cancelled_and_may_clean_up(context: Context) -> None:
    trace: list[str] = []

    @tool(timeout_seconds=0.1)
    async def slow() -> str:
        """Sleeps."""
        try:
            await asyncio.sleep(5)
        finally:
            await asyncio.sleep(0.01)
            trace.append("cleaned")
        return "late"

    async def run() -> None:
        slots = ConcurrencyLimiter(1)
        outcome = await call_tool(slow, "{}", context, ToolLimits(), slots)
        assert isinstance(outcome, ToolCallError)
        assert outcome.error_type == "timed_out"
        assert trace == ["cleaned"]
        assert await slots.acquire(0.1)

    asyncio.run(run())


@pytest.mark.usefixtures("no_waiting")
def test_an_async_tool_that_swallows_its_cancellation_holds_nobody_up(context: Context) -> None:
    freed = asyncio.Event()

    @tool(timeout_seconds=0.1)
    async def deaf() -> str:
        """Hangs."""
        while not freed.is_set():
            try:
                await freed.wait()
            except asyncio.CancelledError:
                continue
        raise RuntimeError("nobody is there to see this")

    async def run() -> None:
        started = time.monotonic()
        outcome = await call_tool(deaf, "{}", context, ToolLimits(), ConcurrencyLimiter(1))
        assert isinstance(outcome, ToolCallError)
        assert outcome.error_type == "timed_out"
        assert time.monotonic() - started < 0.45  # less than the grace that a run has after its deadline
        freed.set()

    asyncio.run(run())


@pytest.mark.usefixtures("no_waiting")
def test_no_call_lasts_longer_than_its_run(context: Context) -> None:
    @tool(timeout_seconds=30)
    async def slow() -> str:
        """Sleeps."""
        await asyncio.sleep(5)
        return "late"

    soon = dataclasses.replace(context, deadline=Deadline.after(0.1))
    outcome = asyncio.run(call_tool(slow, "{}", soon, ToolLimits(), ConcurrencyLimiter(1)))
    assert isinstance(outcome, ToolCallError)
    assert outcome.message.startswith("slow timed out after 0.1 s")


def test_calls_that_are_cancelled_give_their_slots_back(context: Context) -> None:
    @tool
    async def slow() -> str:
        """Sleeps."""
        await asyncio.sleep(5)
        return "late"

    @tool
    def quick() -> str:
        """Does."""
        return "done"

    async def run(made: Tool, turns: int) -> None:
        slots = ConcurrencyLimiter(1)
        calling = asyncio.ensure_future(call_tool(made, "{}", context, ToolLimits(), slots))
        for _ in range(turns):
            await asyncio.sleep(0)
        calling.cancel()
        await asyncio.wait({calling})
        assert await slots.acquire(30)

    for made in (slow, quick):
        for turns in range(8):
            asyncio.run(run(made, turns))


def test_progress_may_be_told_from_any_thread(context: Context) -> None:
    told: list[str] = []

    @tool
    def work(context: Context) -> str:
        """Works."""
        context.progress("half")
        return context.idempotency_key

    telling = dataclasses.replace(context, report=told.append)
    outcome = asyncio.run(call_tool(work, "{}", telling, ToolLimits(), ConcurrencyLimiter(1)))
    assert (told, outcome.render()) == (["half"], "task:call_1")
