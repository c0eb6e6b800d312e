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
from agentfn.loop.loop_events import LoopEvent, LoopFinished, ModelTurn, StepStarted
from agentfn.loop.loop_limits import LoopLimits
from agentfn.loop.loop_result import LoopResult
from agentfn.loop.loop_state import LoopState
from agentfn.loop.model_retry import DeadlineReached, RetryingModel
from agentfn.loop.model_turn import ModelTurnRunner
from agentfn.loop.result_factory import answer_result, approval_result, existing_result, final_output_result
from agentfn.loop.tool_calls.lifecycle_tools import LIFECYCLE_TOOLS
from agentfn.loop.tool_calls.tool_executor import OUT_OF_TIME_ERROR, ToolExecutor
from agentfn.loop.tool_protocols.tool_protocol import ToolProtocolName, select_protocol
from agentfn.loop.transcript import count_steps, pending_calls, total_usage, truncated_call_id
from agentfn.models import Model, ModelRequest, Sampling, Turn, Usage
from agentfn.tools import FolderWorkspace, NestedLoopRunner, ToolRegistry, Workspace
from agentfn.tools.execution import ConcurrencyLimiter
from agentfn.tools.read_more_tool import read_more
from agentfn.tools.tool_context import no_nested_loops
from agentfn.tools.tool_output import replace_surrogates

NO_DEADLINE_SECONDS = 86_400.0
OUT_OF_TIME_TEXT = "The time was over before there was an answer."


@dataclass(frozen=True)
class AgentLoop:
    """One agent's loop over one transcript.

    `suspends` says that another run can go on where this one stops: out of time it then ends "suspended", else with a
    closing call. `spent` gives what the whole task has cost so far, of this loop's turns. `force_first_tool` makes the
    model call a tool in the first step of a fresh conversation. `slots` is shared by all loops of a process, `name`
    tells an inner loop from the others of its task, and `inner` is what plays those of this loop's tools.
    """

    model: Model
    tools: ToolRegistry = field(default_factory=ToolRegistry)
    system_prompt: str = ""
    workspace: Workspace = field(default_factory=FolderWorkspace)
    deadline: Deadline = field(default_factory=lambda: Deadline.after(NO_DEADLINE_SECONDS))
    limiter: ConcurrencyLimiter = field(default_factory=lambda: ConcurrencyLimiter(16))
    task_id: str = "task"
    name: str = ""
    limits: LoopLimits = field(default_factory=LoopLimits)
    sampling: Sampling = field(default_factory=Sampling)
    tool_protocol: ToolProtocolName = "auto"
    lifecycle_tools: ToolRegistry = LIFECYCLE_TOOLS
    force_first_tool: bool = False
    compact_schemas: bool = False
    stream: bool = False
    can_suspend: bool = False
    count_usage: Callable[[Sequence[Turn]], Usage] = total_usage
    state: Mapping[str, Any] = field(default_factory=dict)
    run_nested: NestedLoopRunner = no_nested_loops

    def run_sync(self, message: str | Sequence[Turn]) -> LoopResult:
        """`run` for scripts, in an event loop of its own. `message` is the user's words, or a transcript."""
        return asyncio.run(self.run([Turn("user", message)] if isinstance(message, str) else message))

    async def run(self, transcript: Sequence[Turn], *, interrupted: bool = False) -> LoopResult:
        """Plays to the end and returns how it ended."""
        async with contextlib.aclosing(self.run_stream(transcript, interrupted=interrupted)) as events:
            async for event in events:
                if isinstance(event, LoopFinished):
                    return event.result
        raise AssertionError("a loop ends with Final")

    async def run_stream(self, transcript: Sequence[Turn], *, interrupted: bool = False) -> AsyncGenerator[LoopEvent]:
        """Goes on where `transcript` stands, and ends with one Final.

        `interrupted` says that the run which wrote its end may have died with calls under way: those of idempotent
        tools are made again, of others the model is told that the outcome is unknown.
        """
        tally = LoopState(transcript)
        step = count_steps(tally.turns)
        try:
            async with contextlib.aclosing(self._run_until_deadline(tally, interrupted)) as events:
                async for event in events:
                    step = event.step
                    yield event
        except ModelError as error:
            yield LoopFinished(
                step,
                tally.build_result(
                    "failed", replace_surrogates(str(error)).strip() or type(error).__name__, "model_error"
                ),
            )

    async def _run_until_deadline(self, tally: LoopState, interrupted: bool) -> AsyncGenerator[LoopEvent]:
        """The steps, and what becomes of them when the time is over."""
        step = count_steps(tally.turns)
        speaking = await self._model_turn_runner()
        try:
            async with contextlib.aclosing(self._run_steps(tally, speaking, interrupted)) as events:
                async for event in events:
                    step = event.step
                    yield event
        except DeadlineReached as pause:
            if self.can_suspend:
                yield LoopFinished(
                    step, tally.build_result("suspended", "", "out_of_time", resume_in_seconds=pause.resume_in_seconds)
                )
                return
            if calls := pending_calls(tally.turns):
                yield tally.record(ToolExecutor.fail_calls(step, calls, OUT_OF_TIME_ERROR))
            async with contextlib.aclosing(self._final_answer(tally, speaking, count_steps(tally.turns) + 1)) as events:
                async for event in events:
                    yield event

    async def _run_steps(
        self, tally: LoopState, speaking: ModelTurnRunner, interrupted: bool
    ) -> AsyncGenerator[LoopEvent]:
        if result := existing_result(tally, self.limits, self.workspace.produced):
            yield LoopFinished(count_steps(tally.turns), result)
            return
        deadline = self._step_deadline()
        acting = self._tool_executor(speaking, deadline)
        for step in itertools.count(count_steps(tally.turns) + (not pending_calls(tally.turns))):
            if not pending_calls(tally.turns):
                interrupted = False  # whatever is called from here on, this run calls itself
                limit = self.limits.reached_limit(step, self.count_usage(tally.turns))
                async with contextlib.aclosing(self._run_model_turn(tally, speaking, step, limit, deadline)) as events:
                    async for event in events:
                        yield event
                if not pending_calls(tally.turns):
                    return
            cut = truncated_call_id(tally.turns)
            told, ending = acting.run_lifecycle_calls(step, pending_calls(tally.turns), cut)
            for event in told:
                yield tally.record(event)
            if ending is not None:
                yield LoopFinished(step, final_output_result(tally, ending[1], ending[0], self.workspace.produced))
                return
            async with contextlib.aclosing(
                acting.run_tool_calls(step, tally.turns, interrupted=interrupted, cut=cut)
            ) as events:
                async for event in events:
                    yield tally.record(event)
            if waiting := pending_calls(tally.turns):
                yield LoopFinished(step, approval_result(tally, waiting[0]))
                return

    async def _run_model_turn(
        self, tally: LoopState, speaking: ModelTurnRunner, step: int, limit: str, deadline: Deadline
    ) -> AsyncGenerator[LoopEvent]:
        """The model's next turn; where it holds no calls, that was the loop's last. With a limit met, it is."""
        yield StepStarted(step)
        async with contextlib.aclosing(speaking.run(step, self._build_request(tally.turns, limit), deadline)) as events:
            async for event in events:
                yield tally.record(event)
        if isinstance(event, ModelTurn) and not event.turn.tool_calls:
            yield LoopFinished(
                step, answer_result(tally, event.turn, event.finish_reason, limit, self.workspace.produced)
            )

    async def _final_answer(self, tally: LoopState, speaking: ModelTurnRunner, step: int) -> AsyncGenerator[LoopEvent]:
        """The closing call of a loop that no other run goes on with."""
        try:
            speak = self._run_model_turn(tally, speaking, step, "out_of_time", self.deadline)
            async with contextlib.aclosing(speak) as events:
                async for event in events:
                    yield event
        except DeadlineReached:
            yield LoopFinished(step, tally.build_result("failed", OUT_OF_TIME_TEXT, "out_of_time"))

    def _build_request(self, turns: Sequence[Turn], limit: str) -> ModelRequest:
        told = [*turns, Turn("user", self.limits.final_answer_prompt(limit))] if limit else turns
        fresh = turns[-1].role == "user" and all(turn.usage is None for turn in turns)  # nothing that it said itself
        cut = any(file.origin == "hidden" for file in self.workspace.files)  # an output that read_more goes on with
        own = self._tools_with_read_more() if cut else self.tools
        return ModelRequest(
            system=self.system_prompt,
            turns=tuple(told),
            tools=(*own.declarations(self.compact_schemas), *self.lifecycle_tools.declarations(self.compact_schemas)),
            tool_choice="none" if limit else "required" if fresh and self.force_first_tool else "auto",
            sampling=self.sampling,
        )

    def _tools_with_read_more(self) -> ToolRegistry:
        """The agent's tools, and the one that reads on where an output was cut."""
        return self.tools if read_more.name in self.tools else self.tools.with_tool(read_more)

    def _step_deadline(self) -> Deadline:
        """Until when there is work; the rest is for the closing call, where no other run could make it."""
        kept = 0.0 if self.can_suspend else min(self.limits.final_answer_seconds, self.deadline.remaining() / 4)
        return dataclasses.replace(self.deadline, at=self.deadline.at - kept)

    async def _model_turn_runner(self) -> ModelTurnRunner:
        protocol = await select_protocol(self.model, self.tool_protocol)
        asking = RetryingModel(self.model, self.limits.retry_policy, stream=self.stream and protocol.can_stream)
        return ModelTurnRunner(asking, protocol, self.limits)

    def _tool_executor(self, speaking: ModelTurnRunner, deadline: Deadline) -> ToolExecutor:
        repeats = speaking.protocol.max_repeats
        return ToolExecutor(
            tools=self._tools_with_read_more(),
            lifecycle_tools=self.lifecycle_tools,
            workspace=self.workspace,
            deadline=deadline,
            limits=self.limits.tools,
            limiter=self.limiter,
            task_id=self.task_id,
            loop_name=self.name,
            max_repeats=self.limits.max_repeats if repeats is None else min(repeats, self.limits.max_repeats),
            run_nested=self.run_nested,
            state=self.state,
        )
