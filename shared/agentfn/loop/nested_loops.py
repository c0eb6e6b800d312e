"""Loops inside a task's work: each has a name, and under it its turns are journaled like the task's own."""

import asyncio
import contextlib
import dataclasses
from collections.abc import Awaitable, Callable, Iterable

from agentfn.errors import AgentfnError
from agentfn.loop.agent_loop import AgentLoop
from agentfn.loop.loop_events import LoopEvent, LoopFinished
from agentfn.loop.loop_result import LoopResult
from agentfn.loop.tool_calls.lifecycle_tools import LIFECYCLE_TOOLS
from agentfn.loop.tool_calls.pending_call import OUTCOME_UNKNOWN
from agentfn.loop.tool_calls.tool_executor import ToolExecutor
from agentfn.loop.transcript import count_steps, order_turns, pending_calls, turns_of_loop
from agentfn.models import Turn
from agentfn.tools import TaskSuspended, ToolRegistry

MAX_LOOP_NAME_CHARS = 200
STOP_STATUSES = ("suspended", "input_required", "auth_required")


class NestedLoops:
    """`loop` is what they are made of. `turns` are all of the task's, in the order they were journaled: `note` adds to
    them, and returns when what is urgent is kept. `parallel` is how many play at once.

    Where one of them cannot go on in this run, or asks the user, `stopped` is how the run ends: its `Paused` is raised
    through whatever waits for it, and no further one is begun.
    """

    def __init__(
        self,
        loop: AgentLoop,
        turns: list[Turn],
        record: Callable[[LoopEvent], Awaitable[None]],
        max_parallel: int,
        interrupted: bool,
    ) -> None:
        self.stop_result: LoopResult | None = None
        self._loop = dataclasses.replace(loop, run_nested=self.run, force_first_tool=False)
        self._turns = turns
        self._record = record
        self._semaphore = asyncio.Semaphore(max_parallel)
        self._interrupted = interrupted
        self._running: dict[str, asyncio.Future[None]] = {}
        self._cancelled: set[str] = set()

    async def run(self, name: str, message: str, *, instructions: str = "", tools: Iterable[str] = ()) -> LoopResult:
        """Plays the loop of that name to its end. Raises Paused where it has none in this run.

        Raises AgentfnError where a loop of that name is playing already, or the name is none.
        """
        if not 0 < len(name) <= MAX_LOOP_NAME_CHARS:
            raise AgentfnError(f"an inner loop's name has 1 to {MAX_LOOP_NAME_CHARS} characters, not {len(name)}")
        if name in self._running:
            raise AgentfnError(f"two inner loops of one task are called {name!r}; each needs a name of its own")
        done = self._running[name] = asyncio.get_running_loop().create_future()
        try:
            async with self._semaphore:
                return await self._run_loop(name, message, instructions, list(tools))
        except asyncio.CancelledError:
            self._cancelled.add(name)
            raise
        finally:
            del self._running[name]
            done.set_result(None)

    async def drain(self) -> None:
        """Waits for those that play on by themselves, up to where they can be gone on with.

        Those that were cancelled half-way are told of calls whose outcome nobody knows any more.
        """
        while self._running:
            await asyncio.wait(set(self._running.values()))
        for name in self._cancelled:
            turns = order_turns(turns_of_loop(self._turns, name))
            lost = [
                call
                for call in pending_calls(turns)
                if (tool := self._loop.tools.get(call.name)) and not tool.idempotent
            ]
            if lost:
                told = ToolExecutor.fail_calls(count_steps(turns), lost, OUTCOME_UNKNOWN)
                await self._record(dataclasses.replace(told, loop=name))

    async def _run_loop(self, name: str, message: str, instructions: str, tools: list[str]) -> LoopResult:
        if self.stop_result is not None:
            raise TaskSuspended
        registry = self._loop.tools.select(tools)
        lifecycle = LIFECYCLE_TOOLS if tools else ToolRegistry()
        loop = dataclasses.replace(
            self._loop, name=name, system_prompt=instructions, tools=registry, lifecycle_tools=lifecycle
        )
        # The message is given anew each time, not kept: where it is a chapter, the table need not hold it.
        transcript = [Turn("user", message), *turns_of_loop(self._turns, name)]
        async with contextlib.aclosing(
            loop.run_stream(transcript, interrupted=self._interrupted or name in self._cancelled)
        ) as events:
            async for event in events:
                await self._record(dataclasses.replace(event, loop=name))
                if isinstance(event, LoopFinished):
                    result = dataclasses.replace(event.result, loop=name)
        if result.status in STOP_STATUSES:
            self.stop_result = self._stop_with(result)
            raise TaskSuspended
        return result

    def _stop_with(self, result: LoopResult) -> LoopResult:
        """What the user is asked goes before what needs more time."""
        stopped = self.stop_result
        return result if stopped is None or stopped.status == "suspended" else stopped
