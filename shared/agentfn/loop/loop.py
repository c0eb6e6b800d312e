"""The loop: ask the model, run the tools it asks for, until it is done or a limit is met."""

import contextlib
import dataclasses
import itertools
from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass, field

from agentfn.deadline import Deadline
from agentfn.errors import ModelError
from agentfn.loop.acting import Acting
from agentfn.loop.asking import OutOfTime, Patience, ask
from agentfn.loop.events import Event, Final, ModelTurn, StepStarted
from agentfn.loop.lifecycle import LIFECYCLE, answer_in
from agentfn.loop.result import Result
from agentfn.loop.tally import Tally
from agentfn.loop.transcript import distinct, steps_taken, unanswered, whole
from agentfn.models import Model, Prompt, Reply, Sampling, Turn
from agentfn.tools import FileInfo, Registry, Workspace
from agentfn.tools.calling import Slots, ToolLimits

CLOSING = (
    "The limit of {steps} steps is reached and tools are off. Give the best answer that what you have found so far "
    "allows, and say what is missing."
)
EMPTY = "The model gave an empty answer, {times} times in a row."
EMPTY_TRIES = 2
FILTERED = "The model's provider stopped the answer with its content filter."


@dataclass(frozen=True)
class LoopLimits:
    steps: int = 40
    repeats: int = 6
    patience: Patience = field(default_factory=Patience)
    tools: ToolLimits = field(default_factory=ToolLimits)


@dataclass(frozen=True)
class Loop:
    """One agent's loop over one task's transcript.

    `force_first_tool` makes the model call a tool in the first step of a fresh conversation. `slots` is shared by all
    loops of the process.
    """

    model: Model
    tools: Registry
    system: str
    workspace: Workspace
    deadline: Deadline
    slots: Slots
    task_id: str
    limits: LoopLimits = field(default_factory=LoopLimits)
    sampling: Sampling = field(default_factory=Sampling)
    force_first_tool: bool = False

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
            async with contextlib.aclosing(self._steps(tally, interrupted)) as events:
                async for event in events:
                    step = event.step
                    yield event
            return
        except OutOfTime as pause:
            result = tally.result("suspended", "", "out_of_time", resume_in=pause.resume_in)
        except ModelError as error:
            result = tally.result("failed", str(error), "model_error")
        for event in (*tally.notices(), Final(step, result)):
            yield event

    async def _steps(self, tally: Tally, interrupted: bool) -> AsyncGenerator[Event]:
        acting = self._acting()
        for step in itertools.count(steps_taken(tally.turns) + (not unanswered(tally.turns))):
            if not unanswered(tally.turns):
                interrupted = False  # whatever is called from here on, this run calls itself
                yield StepStarted(step)
                reply = await self._ask(tally, step)
                for notice in tally.notices():
                    yield notice
                acts = any(call.name not in LIFECYCLE for call in reply.calls)
                yield tally.keep(ModelTurn(step, reply.turn, acts))
                if not reply.calls:
                    yield Final(step, self._answered(tally, reply, step))
                    return
            cut = _cut_call(tally.turns)
            events, ending = acting.live(step, unanswered(tally.turns), cut)
            for event in events:
                yield tally.keep(event)
            if ending is not None:
                yield Final(step, tally.ended(ending[1], ending[0], self._produced()))
                return
            calls = unanswered(tally.turns)
            running = acting.run(step, calls, tally.turns, interrupted=interrupted, cut=cut)
            async with contextlib.aclosing(running) as told:
                async for event in told:
                    yield tally.keep(event)

    async def _ask(self, tally: Tally, step: int) -> Reply:
        """The model's next turn. An empty one is asked for again; a call in the closing turn is left out."""
        closing = step > self.limits.steps
        prompt = self._prompt(tally.turns, closing)

        def notice(text: str) -> None:
            tally.notice(step, text)

        for _ in range(EMPTY_TRIES):
            reply = whole(await ask(self.model, prompt, self.deadline, self.limits.patience, notice))
            reply = _closed(reply) if closing else _identified(reply, tally.turns)
            if reply.turn.text or reply.calls or reply.finish == "content_filter":
                break
            notice("the model gave an empty answer")
        return reply

    def _prompt(self, turns: Sequence[Turn], closing: bool) -> Prompt:
        told = [*turns, Turn("user", CLOSING.format(steps=self.limits.steps))] if closing else turns
        fresh = len(turns) == 1
        return Prompt(
            system=self.system,
            turns=tuple(told),
            tools=(*self.tools.declarations(), *LIFECYCLE.declarations()),
            tool_choice="none" if closing else "required" if fresh and self.force_first_tool else "auto",
            sampling=self.sampling,
        )

    def _answered(self, tally: Tally, reply: Reply, step: int) -> Result:
        if reply.finish == "content_filter":
            return tally.result("failed", reply.text or FILTERED, "content_filter")
        if not reply.turn.text:
            return tally.result("failed", EMPTY.format(times=EMPTY_TRIES), "empty_answer")
        limit = "max_steps" if step > self.limits.steps else "length" if reply.finish == "length" else "answer"
        return tally.result("completed", reply.text, limit, self._produced())

    def _produced(self) -> tuple[FileInfo, ...]:
        return self.workspace.produced

    def _acting(self) -> Acting:
        return Acting(
            tools=self.tools,
            workspace=self.workspace,
            deadline=self.deadline,
            limits=self.limits.tools,
            slots=self.slots,
            task_id=self.task_id,
            max_repeats=self.limits.repeats,
        )


def _cut_call(turns: Sequence[Turn]) -> str:
    """The id of the call that the output limit cut off: the last of its turn. Empty where none was."""
    spoken = next(turn for turn in reversed(turns) if turn.role == "assistant")
    return spoken.calls[-1].id if spoken.cut and spoken.calls else ""


def _identified(reply: Reply, turns: Sequence[Turn]) -> Reply:
    return dataclasses.replace(reply, calls=distinct(reply.calls, turns))


def _closed(reply: Reply) -> Reply:
    """The closing turn is an answer, whatever else is in it."""
    text = reply.text if reply.text.strip() else answer_in(reply.calls)
    return dataclasses.replace(reply, text=text, calls=(), finish="stop")
