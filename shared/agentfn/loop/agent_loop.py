"""The loop: ask the model, run the tools it asks for, until it is done or a limit is met."""

import asyncio
import contextlib
import dataclasses
import itertools
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from agentfn.deadline import Deadline
from agentfn.errors import ModelError
from agentfn.loop.loop_events import Event, Final, ModelTurn, StepStarted
from agentfn.loop.loop_limits import LoopLimits
from agentfn.loop.loop_result import Result
from agentfn.loop.loop_state import Tally
from agentfn.loop.model_retry import Asking, OutOfTime
from agentfn.loop.model_turn import Speaking
from agentfn.loop.result_factory import already_ended, answered, ended, waits
from agentfn.loop.tool_calls.lifecycle_tools import LIFECYCLE
from agentfn.loop.tool_calls.tool_executor import NOT_DONE, Acting
from agentfn.loop.tool_protocols.tool_protocol import ProtocolName, protocol_for
from agentfn.loop.transcript import cut_call, steps_taken, unanswered, usage_of
from agentfn.models import Model, Prompt, Sampling, Turn, Usage
from agentfn.tools import FolderWorkspace, Inner, Registry, Workspace
from agentfn.tools.execution import Slots
from agentfn.tools.read_more_tool import read_more
from agentfn.tools.tool_context import no_inner
from agentfn.tools.tool_output import writable

A_DAY = 86_400.0
TOO_LATE = "The time was over before there was an answer."


@dataclass(frozen=True)
class Loop:
    """One agent's loop over one transcript.

    `suspends` says that another run can go on where this one stops: out of time it then ends "suspended", else with a
    closing call. `spent` gives what the whole task has cost so far, of this loop's turns. `force_first_tool` makes the
    model call a tool in the first step of a fresh conversation. `slots` is shared by all loops of a process, `name`
    tells an inner loop from the others of its task, and `inner` is what plays those of this loop's tools.
    """

    model: Model
    tools: Registry = field(default_factory=Registry)
    system: str = ""
    workspace: Workspace = field(default_factory=FolderWorkspace)
    deadline: Deadline = field(default_factory=lambda: Deadline.after(A_DAY))
    slots: Slots = field(default_factory=lambda: Slots(16))
    task_id: str = "task"
    name: str = ""
    limits: LoopLimits = field(default_factory=LoopLimits)
    sampling: Sampling = field(default_factory=Sampling)
    protocol: ProtocolName = "auto"
    lifecycle: Registry = LIFECYCLE
    force_first_tool: bool = False
    compact: bool = False
    stream: bool = False
    suspends: bool = False
    spent: Callable[[Sequence[Turn]], Usage] = usage_of
    state: Mapping[str, Any] = field(default_factory=dict)
    inner: Inner = no_inner

    def run_sync(self, message: str | Sequence[Turn]) -> Result:
        """`run` for scripts, in an event loop of its own. `message` is the user's words, or a transcript."""
        return asyncio.run(self.run([Turn("user", message)] if isinstance(message, str) else message))

    async def run(self, transcript: Sequence[Turn], *, interrupted: bool = False) -> Result:
        """Plays to the end and returns how it ended."""
        async with contextlib.aclosing(self.play(transcript, interrupted=interrupted)) as events:
            async for event in events:
                if isinstance(event, Final):
                    return event.result
        raise AssertionError("a loop ends with Final")

    async def play(self, transcript: Sequence[Turn], *, interrupted: bool = False) -> AsyncGenerator[Event]:
        """Goes on where `transcript` stands, and ends with one Final.

        `interrupted` says that the run which wrote its end may have died with calls under way: those of idempotent
        tools are made again, of others the model is told that the outcome is unknown.
        """
        tally = Tally(transcript)
        step = steps_taken(tally.turns)
        try:
            async with contextlib.aclosing(self._to_the_end(tally, interrupted)) as events:
                async for event in events:
                    step = event.step
                    yield event
        except ModelError as error:
            yield Final(
                step, tally.result("failed", writable(str(error)).strip() or type(error).__name__, "model_error")
            )

    async def _to_the_end(self, tally: Tally, interrupted: bool) -> AsyncGenerator[Event]:
        """The steps, and what becomes of them when the time is over."""
        step = steps_taken(tally.turns)
        speaking = await self._speaking()
        try:
            async with contextlib.aclosing(self._steps(tally, speaking, interrupted)) as events:
                async for event in events:
                    step = event.step
                    yield event
        except OutOfTime as pause:
            if self.suspends:
                yield Final(step, tally.result("suspended", "", "out_of_time", resume_in=pause.resume_in))
                return
            if calls := unanswered(tally.turns):
                yield tally.keep(Acting.unfinished(step, calls, NOT_DONE))
            async with contextlib.aclosing(self._last_words(tally, speaking, steps_taken(tally.turns) + 1)) as events:
                async for event in events:
                    yield event

    async def _steps(self, tally: Tally, speaking: Speaking, interrupted: bool) -> AsyncGenerator[Event]:
        if result := already_ended(tally, self.limits, self.workspace.produced):
            yield Final(steps_taken(tally.turns), result)
            return
        deadline = self._working()
        acting = self._acting(speaking, deadline)
        for step in itertools.count(steps_taken(tally.turns) + (not unanswered(tally.turns))):
            if not unanswered(tally.turns):
                interrupted = False  # whatever is called from here on, this run calls itself
                limit = self.limits.met(step, self.spent(tally.turns))
                async with contextlib.aclosing(self._speak(tally, speaking, step, limit, deadline)) as events:
                    async for event in events:
                        yield event
                if not unanswered(tally.turns):
                    return
            cut = cut_call(tally.turns)
            told, ending = acting.live(step, unanswered(tally.turns), cut)
            for event in told:
                yield tally.keep(event)
            if ending is not None:
                yield Final(step, ended(tally, ending[1], ending[0], self.workspace.produced))
                return
            async with contextlib.aclosing(acting.run(step, tally.turns, interrupted=interrupted, cut=cut)) as events:
                async for event in events:
                    yield tally.keep(event)
            if waiting := unanswered(tally.turns):
                yield Final(step, waits(tally, waiting[0]))
                return

    async def _speak(
        self, tally: Tally, speaking: Speaking, step: int, limit: str, deadline: Deadline
    ) -> AsyncGenerator[Event]:
        """The model's next turn; where it holds no calls, that was the loop's last. With a limit met, it is."""
        yield StepStarted(step)
        async with contextlib.aclosing(speaking.turn(step, self._prompt(tally.turns, limit), deadline)) as events:
            async for event in events:
                yield tally.keep(event)
        if isinstance(event, ModelTurn) and not event.turn.calls:
            yield Final(step, answered(tally, event.turn, event.finish, limit, self.workspace.produced))

    async def _last_words(self, tally: Tally, speaking: Speaking, step: int) -> AsyncGenerator[Event]:
        """The closing call of a loop that no other run goes on with."""
        try:
            speak = self._speak(tally, speaking, step, "out_of_time", self.deadline)
            async with contextlib.aclosing(speak) as events:
                async for event in events:
                    yield event
        except OutOfTime:
            yield Final(step, tally.result("failed", TOO_LATE, "out_of_time"))

    def _prompt(self, turns: Sequence[Turn], limit: str) -> Prompt:
        told = [*turns, Turn("user", self.limits.closing(limit))] if limit else turns
        fresh = turns[-1].role == "user" and all(turn.usage is None for turn in turns)  # nothing that it said itself
        cut = any(file.origin == "hidden" for file in self.workspace.files)  # an output that read_more goes on with
        own = self._readable() if cut else self.tools
        return Prompt(
            system=self.system,
            turns=tuple(told),
            tools=(*own.declarations(self.compact), *self.lifecycle.declarations(self.compact)),
            tool_choice="none" if limit else "required" if fresh and self.force_first_tool else "auto",
            sampling=self.sampling,
        )

    def _readable(self) -> Registry:
        """The agent's tools, and the one that reads on where an output was cut."""
        return self.tools if read_more.name in self.tools else self.tools.beside(read_more)

    def _working(self) -> Deadline:
        """Until when there is work; the rest is for the closing call, where no other run could make it."""
        kept = 0.0 if self.suspends else min(self.limits.closing_seconds, self.deadline.left() / 4)
        return dataclasses.replace(self.deadline, at=self.deadline.at - kept)

    async def _speaking(self) -> Speaking:
        protocol = await protocol_for(self.model, self.protocol)
        asking = Asking(self.model, self.limits.patience, stream=self.stream and protocol.streams)
        return Speaking(asking, protocol, self.limits)

    def _acting(self, speaking: Speaking, deadline: Deadline) -> Acting:
        repeats = speaking.protocol.repeats
        return Acting(
            tools=self._readable(),
            lifecycle=self.lifecycle,
            workspace=self.workspace,
            deadline=deadline,
            limits=self.limits.tools,
            slots=self.slots,
            task_id=self.task_id,
            loop=self.name,
            max_repeats=self.limits.repeats if repeats is None else min(repeats, self.limits.repeats),
            inner=self.inner,
            state=self.state,
        )
