"""The agent loop: call the model, run the tools that it calls, until it answers or a limit is reached."""

import asyncio
import contextlib
import dataclasses
from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass, field

from agentfn.deadline import Deadline
from agentfn.errors import ModelError
from agentfn.loop.loop_environment import LoopEnvironment
from agentfn.loop.loop_events import LoopEvent, LoopFinished, ModelTurn, StepStarted
from agentfn.loop.loop_limits import LoopLimits
from agentfn.loop.loop_options import LoopOptions
from agentfn.loop.loop_result import LoopResult
from agentfn.loop.loop_state import LoopState
from agentfn.loop.model_retry import DeadlineReached
from agentfn.loop.model_turn import ModelTurnRunner, create_model_turn_runner
from agentfn.loop.result_factory import (
    answer_result,
    approval_result,
    error_result,
    existing_result,
    final_output_result,
)
from agentfn.loop.tool_calls.tool_executor import OUT_OF_TIME_ERROR, ToolExecutor
from agentfn.loop.transcript import count_steps, pending_calls, truncated_call_id
from agentfn.models import Model, ModelRequest, Turn
from agentfn.tools import FileRecord, ToolRegistry, read_more

OUT_OF_TIME_TEXT = "The time was over before there was an answer."


@dataclass(frozen=True)
class AgentLoop:
    """One agent's loop over one transcript. `name` is empty for the task's main loop, and set for a nested loop."""

    model: Model
    tools: ToolRegistry = field(default_factory=ToolRegistry)
    system_prompt: str = ""
    name: str = ""
    limits: LoopLimits = field(default_factory=LoopLimits)
    options: LoopOptions = field(default_factory=LoopOptions)
    environment: LoopEnvironment = field(default_factory=LoopEnvironment)

    def run_sync(self, message: str | Sequence[Turn]) -> LoopResult:
        """Runs the loop in a new event loop, for scripts. `message` is the user's text, or a transcript."""
        return asyncio.run(self.run([Turn("user", message)] if isinstance(message, str) else message))

    async def run(self, transcript: Sequence[Turn], *, interrupted: bool = False) -> LoopResult:
        """Runs the loop to its end and returns the result."""
        async with contextlib.aclosing(self.run_stream(transcript, interrupted=interrupted)) as events:
            async for event in events:
                if isinstance(event, LoopFinished):
                    return event.result
        raise AssertionError("a loop ends with LoopFinished")

    async def run_stream(self, transcript: Sequence[Turn], *, interrupted: bool = False) -> AsyncGenerator[LoopEvent]:
        """Continues `transcript` and yields events; the last one is the only LoopFinished.

        `interrupted` says that an earlier run may have died during the last tool calls: calls of idempotent tools are
        made again, for the others the model is told that the outcome is unknown.
        """
        state = LoopState(transcript)
        try:
            async with contextlib.aclosing(self._run_until_deadline(state, interrupted)) as events:
                async for event in events:
                    yield event
        except ModelError as error:
            yield LoopFinished(state.step, error_result(state, error))

    async def _run_until_deadline(self, state: LoopState, interrupted: bool) -> AsyncGenerator[LoopEvent]:
        """The steps. When the deadline is reached, the loop is suspended or gives a final answer."""
        runner = await create_model_turn_runner(self.model, self.options, self.limits)
        try:
            async with contextlib.aclosing(self._run_steps(state, runner, interrupted)) as events:
                async for event in events:
                    yield event
        except DeadlineReached as reached:
            if self.environment.can_suspend:
                pause = reached.resume_in_seconds
                result = state.build_result("suspended", "", "out_of_time", resume_in_seconds=pause)
                yield LoopFinished(state.step, result)
                return
            if calls := pending_calls(state.turns):
                yield state.record(ToolExecutor.fail_calls(state.step, calls, OUT_OF_TIME_ERROR))
            async with contextlib.aclosing(self._final_answer(state, runner)) as events:
                async for event in events:
                    yield event

    async def _run_steps(
        self, state: LoopState, runner: ModelTurnRunner, interrupted: bool
    ) -> AsyncGenerator[LoopEvent]:
        """The loop itself. A step is one model turn and the tool calls in it; raises DeadlineReached."""
        if result := existing_result(state, self.limits, self._produced):
            yield LoopFinished(state.step, result)
            return
        deadline = self._step_deadline()
        executor = self._tool_executor(runner, deadline)
        while True:
            if not pending_calls(state.turns):
                state.step += 1
                interrupted = False  # from here on, this run makes all calls itself
                limit = self.limits.reached_limit(state.step, self.environment.count_usage(state.turns))
                async with contextlib.aclosing(self._run_model_turn(state, runner, limit, deadline)) as events:
                    async for event in events:
                        yield event
                if not pending_calls(state.turns):
                    return
            truncated_id = truncated_call_id(state.turns)
            lifecycle_events, final_output = executor.run_lifecycle_calls(
                state.step, pending_calls(state.turns), truncated_id
            )
            for event in lifecycle_events:
                yield state.record(event)
            if final_output is not None:
                yield LoopFinished(state.step, final_output_result(state, final_output, self._produced))
                return
            tool_events = executor.run_tool_calls(
                state.step, state.turns, interrupted=interrupted, truncated_id=truncated_id
            )
            async with contextlib.aclosing(tool_events) as events:
                async for event in events:
                    yield state.record(event)
            if waiting := pending_calls(state.turns):
                yield LoopFinished(state.step, approval_result(state, waiting[0]))
                return

    async def _run_model_turn(
        self, state: LoopState, runner: ModelTurnRunner, limit: str, deadline: Deadline
    ) -> AsyncGenerator[LoopEvent]:
        """The model's next turn. It is the loop's last one if it calls no tools, and always when a limit is reached."""
        yield StepStarted(state.step)
        turn_events = runner.run(state.step, self._build_request(state.turns, limit), deadline)
        async with contextlib.aclosing(turn_events) as events:
            async for event in events:
                yield state.record(event)
        if isinstance(event, ModelTurn) and not event.turn.tool_calls:
            result = answer_result(state, event.turn, event.finish_reason, limit, self._produced)
            yield LoopFinished(state.step, result)

    async def _final_answer(self, state: LoopState, runner: ModelTurnRunner) -> AsyncGenerator[LoopEvent]:
        """The last model call of a loop that no other run continues."""
        state.step = count_steps(state.turns) + 1
        try:
            turn_events = self._run_model_turn(state, runner, "out_of_time", self.environment.deadline)
            async with contextlib.aclosing(turn_events) as events:
                async for event in events:
                    yield event
        except DeadlineReached:
            yield LoopFinished(state.step, state.build_result("failed", OUT_OF_TIME_TEXT, "out_of_time"))

    def _build_request(self, turns: Sequence[Turn], limit: str) -> ModelRequest:
        """The request for the next turn. With a `limit` reached, it asks for the final answer, without tools."""
        options = self.options
        shown = [*turns, Turn("user", self.limits.final_answer_prompt(limit))] if limit else turns
        is_new = turns[-1].role == "user" and all(turn.usage is None for turn in turns)  # the model said nothing yet
        has_truncated_output = any(file.origin == "hidden" for file in self.environment.workspace.files)
        tools = self._tools_with_read_more() if has_truncated_output else self.tools
        return ModelRequest(
            system=self.system_prompt,
            turns=tuple(shown),
            tools=(
                *tools.declarations(options.compact_schemas),
                *options.lifecycle_tools.declarations(options.compact_schemas),
            ),
            tool_choice="none" if limit else "required" if is_new and options.force_first_tool else "auto",
            sampling=options.sampling,
        )

    @property
    def _produced(self) -> tuple[FileRecord, ...]:
        return self.environment.workspace.produced

    def _tools_with_read_more(self) -> ToolRegistry:
        """The agent's tools, and `read_more`, which reads the rest of a truncated output."""
        return self.tools if read_more.name in self.tools else self.tools.with_tool(read_more)

    def _step_deadline(self) -> Deadline:
        """The deadline of steps. It leaves time for the final answer where no other run can continue the loop."""
        environment = self.environment
        if environment.can_suspend:
            return environment.deadline
        reserved = min(self.limits.final_answer_seconds, environment.deadline.remaining() / 4)
        return dataclasses.replace(environment.deadline, at=environment.deadline.at - reserved)

    def _tool_executor(self, runner: ModelTurnRunner, deadline: Deadline) -> ToolExecutor:
        max_repeats = runner.protocol.max_repeats
        return ToolExecutor(
            tools=self._tools_with_read_more(),
            lifecycle_tools=self.options.lifecycle_tools,
            limits=self.limits.tools,
            max_repeats=self.limits.max_repeats if max_repeats is None else min(max_repeats, self.limits.max_repeats),
            loop_name=self.name,
            environment=dataclasses.replace(self.environment, deadline=deadline),
        )
