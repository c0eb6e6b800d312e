"""Loops inside a task's work: each has a name, and under it its turns are journaled like the task's own."""

import asyncio
import contextlib
import dataclasses
from collections.abc import Awaitable, Callable, Iterable

from agentfn.errors import AgentfnError
from agentfn.loop.agent_loop import Loop
from agentfn.loop.loop_events import Event, Final
from agentfn.loop.loop_result import Result
from agentfn.loop.tool_calls.lifecycle_tools import LIFECYCLE
from agentfn.loop.tool_calls.pending_call import UNKNOWN
from agentfn.loop.tool_calls.tool_executor import Acting
from agentfn.loop.transcript import in_order, of_loop, steps_taken, unanswered
from agentfn.models import Turn
from agentfn.tools import Paused, Registry

LONGEST_NAME = 200
STOPS = ("suspended", "input_required", "auth_required")


class InnerLoops:
    """`loop` is what they are made of. `turns` are all of the task's, in the order they were journaled: `note` adds to
    them, and returns when what is urgent is kept. `parallel` is how many play at once.

    Where one of them cannot go on in this run, or asks the user, `stopped` is how the run ends: its `Paused` is raised
    through whatever waits for it, and no further one is begun.
    """

    def __init__(
        self, loop: Loop, turns: list[Turn], note: Callable[[Event], Awaitable[None]], parallel: int, interrupted: bool
    ) -> None:
        self.stopped: Result | None = None
        self._loop = dataclasses.replace(loop, inner=self.run, force_first_tool=False)
        self._turns = turns
        self._note = note
        self._room = asyncio.Semaphore(parallel)
        self._interrupted = interrupted
        self._playing: dict[str, asyncio.Future[None]] = {}
        self._cut: set[str] = set()

    async def run(self, name: str, message: str, *, instructions: str = "", tools: Iterable[str] = ()) -> Result:
        """Plays the loop of that name to its end. Raises Paused where it has none in this run.

        Raises AgentfnError where a loop of that name is playing already, or the name is none.
        """
        if not 0 < len(name) <= LONGEST_NAME:
            raise AgentfnError(f"an inner loop's name has 1 to {LONGEST_NAME} characters, not {len(name)}")
        if name in self._playing:
            raise AgentfnError(f"two inner loops of one task are called {name!r}; each needs a name of its own")
        done = self._playing[name] = asyncio.get_running_loop().create_future()
        try:
            async with self._room:
                return await self._played(name, message, instructions, list(tools))
        except asyncio.CancelledError:
            self._cut.add(name)
            raise
        finally:
            del self._playing[name]
            done.set_result(None)

    async def settle(self) -> None:
        """Waits for those that play on by themselves, up to where they can be gone on with.

        Those that were cancelled half-way are told of calls whose outcome nobody knows any more.
        """
        while self._playing:
            await asyncio.wait(set(self._playing.values()))
        for name in self._cut:
            turns = in_order(of_loop(self._turns, name))
            lost = [
                call for call in unanswered(turns) if (tool := self._loop.tools.get(call.name)) and not tool.idempotent
            ]
            if lost:
                told = Acting.unfinished(steps_taken(turns), lost, UNKNOWN)
                await self._note(dataclasses.replace(told, loop=name))

    async def _played(self, name: str, message: str, instructions: str, tools: list[str]) -> Result:
        if self.stopped is not None:
            raise Paused
        registry = self._loop.tools.only(tools)
        lifecycle = LIFECYCLE if tools else Registry()
        loop = dataclasses.replace(self._loop, name=name, system=instructions, tools=registry, lifecycle=lifecycle)
        # The message is given anew each time, not kept: where it is a chapter, the table need not hold it.
        transcript = [Turn("user", message), *of_loop(self._turns, name)]
        async with contextlib.aclosing(
            loop.play(transcript, interrupted=self._interrupted or name in self._cut)
        ) as events:
            async for event in events:
                await self._note(dataclasses.replace(event, loop=name))
                if isinstance(event, Final):
                    result = dataclasses.replace(event.result, loop=name)
        if result.status in STOPS:
            self.stopped = self._first(result)
            raise Paused
        return result

    def _first(self, result: Result) -> Result:
        """What the user is asked goes before what needs more time."""
        stopped = self.stopped
        return result if stopped is None or stopped.status == "suspended" else stopped
