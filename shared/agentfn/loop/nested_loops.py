"""Nested loops: loops inside a task's work. Each has a name, under which its turns are journaled."""

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
from agentfn.models import ToolCall, Turn
from agentfn.tools import TaskSuspended, ToolRegistry

MAX_LOOP_NAME_CHARS = 200
STOP_STATUSES = ("suspended", "input_required", "auth_required")


class NestedLoops:
    """Runs the nested loops of one task, as copies of `loop` with other instructions and tools.

    `turns` are all turns of the task in the order in which they were journaled. `record` adds to them; it returns when
    an urgent event is saved. `max_parallel` is how many loops run at once.

    When one of them cannot continue in this run, or asks the user, `stop_result` is the result of the run. Then
    TaskSuspended is raised through everything that waits for the loop, and no further loop is started.
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
        self._loop = dataclasses.replace(
            loop,
            options=dataclasses.replace(loop.options, force_first_tool=False),
            environment=dataclasses.replace(loop.environment, nested_runner=self.run),
        )
        self._turns = turns
        self._record = record
        self._semaphore = asyncio.Semaphore(max_parallel)
        self._interrupted = interrupted
        self._running: dict[str, asyncio.Future[None]] = {}
        self._cancelled: set[str] = set()

    async def run(self, name: str, message: str, *, instructions: str = "", tools: Iterable[str] = ()) -> LoopResult:
        """Runs the loop of that name to its end. `tools` are the names of the tools it may call.

        Raises TaskSuspended if the loop does not end in this run. Raises AgentfnError if a loop of that name is running
        already, or the name is empty or too long.
        """
        if not 0 < len(name) <= MAX_LOOP_NAME_CHARS:
            raise AgentfnError(f"a nested loop's name must have 1 to {MAX_LOOP_NAME_CHARS} characters, not {len(name)}")
        if name in self._running:
            raise AgentfnError(f"two nested loops of one task have the name {name!r}; each needs a different name")
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
        """Waits for loops that still run, until each has reached a point from which it can continue later.

        Calls that a cancelled loop was making get a result which says that their outcome is unknown.
        """
        while self._running:
            await asyncio.wait(set(self._running.values()))
        for name in self._cancelled:
            turns = order_turns(turns_of_loop(self._turns, name))
            if lost := [call for call in pending_calls(turns) if self._has_effects(call)]:
                finished = ToolExecutor.fail_calls(count_steps(turns), lost, OUTCOME_UNKNOWN)
                await self._record(dataclasses.replace(finished, loop_name=name))

    def _has_effects(self, call: ToolCall) -> bool:
        tool = self._loop.tools.get(call.name)
        return tool is not None and not tool.idempotent

    async def _run_loop(self, name: str, message: str, instructions: str, tools: list[str]) -> LoopResult:
        if self.stop_result is not None:
            raise TaskSuspended
        lifecycle_tools = LIFECYCLE_TOOLS if tools else ToolRegistry()
        loop = dataclasses.replace(
            self._loop,
            name=name,
            system_prompt=instructions,
            tools=self._loop.tools.select(tools),
            options=dataclasses.replace(self._loop.options, lifecycle_tools=lifecycle_tools),
        )
        # The message is passed again in each run and not journaled: it may be long, and the table need not hold it.
        transcript = [Turn("user", message), *turns_of_loop(self._turns, name)]
        interrupted = self._interrupted or name in self._cancelled
        async with contextlib.aclosing(loop.run_stream(transcript, interrupted=interrupted)) as events:
            async for event in events:
                await self._record(dataclasses.replace(event, loop_name=name))
                if isinstance(event, LoopFinished):
                    result = dataclasses.replace(event.result, loop_name=name)
        if result.status in STOP_STATUSES:
            self._stop_with(result)
            raise TaskSuspended
        return result

    def _stop_with(self, result: LoopResult) -> None:
        """A question to the user takes precedence over a loop that only needs more time."""
        if self.stop_result is None or self.stop_result.status == "suspended":
            self.stop_result = result
