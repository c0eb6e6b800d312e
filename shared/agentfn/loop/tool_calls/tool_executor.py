"""The tool executor: runs the calls of one model turn, lifecycle tools in order, then the agent's tools in parallel."""

import asyncio
import contextlib
import time
from collections.abc import AsyncGenerator, Callable, Sequence
from dataclasses import dataclass

from agentfn.loop.loop_environment import LoopEnvironment
from agentfn.loop.loop_events import LoopEvent, Progress, ToolCallStarted, ToolResult, ToolsFinished
from agentfn.loop.model_retry import DeadlineReached
from agentfn.loop.tool_calls.approval import parse_decision
from agentfn.loop.tool_calls.lifecycle_tools import FinalOutput, ProgressUpdate, lifecycle_result
from agentfn.loop.tool_calls.pending_call import OUTCOME_UNKNOWN, TRUNCATED_CALL, PendingCall
from agentfn.loop.transcript import approval_reply, count_repeats, pending_calls
from agentfn.models import ToolCall, Turn
from agentfn.tools import Context, Output, TaskSuspended, ToolRegistry
from agentfn.tools.execution import ToolLimits, call_tool
from agentfn.tools.output_renderer import OutputRenderer
from agentfn.tools.tool_arguments import ToolCallError, parse_arguments
from agentfn.tools.tool_output import replace_surrogates

BATCH_SECONDS = 0.1  # results that come this close to one another share a save
MIN_START_SECONDS = {True: 1.0, False: 3.0}  # by `idempotent`: a call is not started with less time remaining

NOT_RUN_TEXT = "Not run: the task ended in the same turn."
OUT_OF_TIME_ERROR = ToolCallError("the time was over before this call had a result", "out_of_time")

type ResultTask = asyncio.Task[ToolResult | None]


@dataclass(frozen=True)
class ToolExecutor:
    """`loop_name` is the name of the loop that makes the calls. `environment` holds the deadline of steps."""

    tools: ToolRegistry
    lifecycle_tools: ToolRegistry
    limits: ToolLimits
    max_repeats: int
    loop_name: str
    environment: LoopEnvironment

    def run_lifecycle_calls(
        self, step: int, calls: Sequence[ToolCall], truncated_id: str
    ) -> tuple[list[LoopEvent], FinalOutput | None]:
        """Runs the lifecycle calls among `calls`. The first final output ends the loop: no call after it is run."""
        results: list[ToolResult] = []
        progress: list[LoopEvent] = []
        final_output: FinalOutput | None = None
        for call in calls:
            if final_output is not None:
                results.append(_tool_result(call, NOT_RUN_TEXT))
            elif call.name in self.lifecycle_tools:
                result, outcome = self._run_lifecycle_call(call, truncated=call.id == truncated_id)
                results.append(result)
                if isinstance(outcome, ProgressUpdate):
                    progress.append(Progress(step, outcome.text))
                else:
                    final_output = outcome
        if final_output is not None:  # other calls that come before it in the turn are not run either
            answered = {result.call.id for result in results}
            results += [_tool_result(call, NOT_RUN_TEXT) for call in calls if call.id not in answered]
        finished = [ToolsFinished(step, tuple(results), ran=False)] if results else []
        return [*progress, *finished], final_output

    async def run_tool_calls(
        self, step: int, turns: Sequence[Turn], *, interrupted: bool, truncated_id: str
    ) -> AsyncGenerator[LoopEvent]:
        """Runs the calls that have no result yet, except those that need the user's approval first.

        `interrupted` says that an earlier run may have died while it ran them. `truncated_id` is the id of the call
        that was cut off at the output limit. Raises DeadlineReached, after the events of the calls that finished, where
        some calls must wait for another run.
        """
        events: asyncio.Queue[Progress | ResultTask] = asyncio.Queue()
        loop = asyncio.get_running_loop()

        def report(text: str) -> None:
            loop.call_soon_threadsafe(events.put_nowait, Progress(step, replace_surrogates(str(text))))

        semaphore = asyncio.Semaphore(self.limits.max_parallel_calls)
        tasks: list[ResultTask] = []
        try:
            for call in pending_calls(turns):
                pending = self._pending_call(call, turns, interrupted=interrupted, truncated=call.id == truncated_id)
                if pending.needs_approval(self.max_repeats, self.limits.max_argument_chars):
                    continue
                yield ToolCallStarted(step, call)
                tasks.append(loop.create_task(self._run_call(pending, semaphore, report)))
                tasks[-1].add_done_callback(events.put_nowait)
            async with contextlib.aclosing(_batch_results(step, events, len(tasks))) as batches:
                async for event in batches:
                    yield event
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
        if any(task.result() is None for task in tasks):
            raise DeadlineReached

    @staticmethod
    def fail_calls(step: int, calls: Sequence[ToolCall], error: ToolCallError) -> ToolsFinished:
        """The results of calls that no run will continue."""
        return ToolsFinished(step, tuple(_tool_result(call, error) for call in calls))

    def _run_lifecycle_call(
        self, call: ToolCall, *, truncated: bool
    ) -> tuple[ToolResult, FinalOutput | ProgressUpdate | None]:
        if truncated:
            return _tool_result(call, TRUNCATED_CALL), None
        tool = self.lifecycle_tools.get(call.name)
        assert tool is not None
        arguments = parse_arguments(call.arguments, tool, self.limits.max_argument_chars)
        if isinstance(arguments, ToolCallError):
            return _tool_result(call, arguments), None
        outcome = tool(**arguments)
        if isinstance(outcome, FinalOutput) and (error := self._check_final_output(outcome)):
            return _tool_result(call, error), None
        return _tool_result(call, lifecycle_result(outcome)), outcome

    def _check_final_output(self, output: FinalOutput) -> ToolCallError | None:
        known = {file.name for file in self.environment.workspace.files}
        if unknown := [name for name in output.files if name not in known]:
            text = f"no such file: {', '.join(unknown)}; there are: {', '.join(sorted(known)) or 'none'}"
            return ToolCallError(text, "unknown_file")
        if not output.text.strip():
            return ToolCallError("it says nothing; put words for the user into it", "empty_text")
        return None

    def _pending_call(
        self, call: ToolCall, turns: Sequence[Turn], *, interrupted: bool, truncated: bool
    ) -> PendingCall:
        reply = approval_reply(turns, call)
        decision = None if reply is None else parse_decision(reply)
        tool, repeats = self.tools.get(call.name), count_repeats(turns, call)
        return PendingCall(call, tool, repeats, decision, truncated, interrupted)

    async def _run_call(
        self, pending: PendingCall, semaphore: asyncio.Semaphore, report: Callable[[str], None]
    ) -> ToolResult | None:
        """The result of one call; None if the call has to wait for a run with more time."""
        call, tool, deadline = pending.call, pending.tool, self.environment.deadline
        rejection = pending.rejection(self.max_repeats, [*self.tools.names, *self.lifecycle_tools.names])
        if rejection is not None or tool is None:
            return _tool_result(call, rejection or OUTCOME_UNKNOWN)
        async with semaphore:
            if deadline.remaining() < MIN_START_SECONDS[tool.idempotent]:
                return None
            started = time.monotonic()
            context, arguments = self._context(call, report), pending.approved_call().arguments
            try:
                outcome = await call_tool(tool, arguments, context, self.limits, self.environment.limiter)
            except TaskSuspended:  # by a nested loop
                return None
            if isinstance(outcome, ToolCallError) and outcome.error_type == "timed_out" and deadline.passed:
                return None if tool.idempotent else _tool_result(call, OUTCOME_UNKNOWN)
            renderer = OutputRenderer(self.environment.workspace, self.limits.max_output_chars)
            text = await renderer.render(context.call_id, outcome)
        text = "\n".join([text, *pending.result_notes()])
        summary = self.tools.summary(call.name, outcome) if isinstance(outcome, Output) else ""
        return _tool_result(call, text, isinstance(outcome, ToolCallError), time.monotonic() - started, summary)

    def _context(self, call: ToolCall, report: Callable[[str], None]) -> Context:
        return Context(
            task_id=self.environment.task_id,
            call_id=f"{self.loop_name}/{call.id}" if self.loop_name else call.id,  # unique among the task's loops
            deadline=self.environment.deadline,
            workspace=self.environment.workspace,
            report=report,
            state=self.environment.state,
            nested_runner=self.environment.nested_runner,
            max_output_chars=self.limits.max_output_chars,
        )


async def _batch_results(
    step: int, events: "asyncio.Queue[Progress | ResultTask]", count: int
) -> AsyncGenerator[LoopEvent]:
    """Progress events at once; results in batches, at most BATCH_SECONDS after the first result of the batch."""
    clock = asyncio.get_running_loop().time
    while count:
        item: Progress | ResultTask | None = await events.get()
        batch: list[ToolResult] = []
        batch_end = 0.0
        while item is not None:
            if isinstance(item, Progress):
                yield item
            else:
                count -= 1
                result = item.result()
                batch_end = batch_end or clock() + BATCH_SECONDS
                batch += [result] if result is not None else []
            item = await _get_before(events, batch_end) if count and batch and clock() < batch_end else None
        if batch:
            yield ToolsFinished(step, tuple(batch))


async def _get_before(events: "asyncio.Queue[Progress | ResultTask]", end: float) -> "Progress | ResultTask | None":
    try:
        async with asyncio.timeout_at(end):
            return await events.get()
    except TimeoutError:
        return None


def _tool_result(
    call: ToolCall, text: str | ToolCallError, is_error: bool = False, seconds: float = 0.0, summary: str = ""
) -> ToolResult:
    if isinstance(text, ToolCallError):
        text, is_error = text.render(), True
    turn = Turn("tool", text, tool_call_id=call.id, tool_name=call.name)
    return ToolResult(call, turn, is_error, seconds, summary)
