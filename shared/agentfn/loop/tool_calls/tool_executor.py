"""The calls of one assistant turn: lifecycle tools in order, then the agent's own side by side."""

import asyncio
import contextlib
import time
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from agentfn.deadline import Deadline
from agentfn.loop.loop_events import LoopEvent, Progress, ToolCallStarted, ToolResult, ToolsFinished
from agentfn.loop.model_retry import DeadlineReached
from agentfn.loop.tool_calls.approval import parse_decision
from agentfn.loop.tool_calls.lifecycle_tools import FinalOutput, ProgressUpdate, lifecycle_result
from agentfn.loop.tool_calls.pending_call import OUTCOME_UNKNOWN, TRUNCATED_CALL, PendingCall
from agentfn.loop.transcript import approval_reply, count_repeats, pending_calls
from agentfn.models import ToolCall, Turn
from agentfn.tools import Context, NestedLoopRunner, Output, TaskSuspended, ToolRegistry, Workspace
from agentfn.tools.execution import ConcurrencyLimiter, ToolLimits, call_tool
from agentfn.tools.output_renderer import OutputRenderer
from agentfn.tools.tool_arguments import ToolCallError, parse_arguments
from agentfn.tools.tool_output import replace_surrogates

BATCH_SECONDS = 0.1  # seconds; results that come this close to one another share a save
MIN_START_SECONDS = {True: 1.0, False: 3.0}  # by idempotence: with less time left a call is not started

NOT_RUN_TEXT = "Not run: the task ended in the same turn."
OUT_OF_TIME_ERROR = ToolCallError("the time was over before this call had a result", "out_of_time")


@dataclass(frozen=True)
class ToolExecutor:
    """`loop` is the name of the loop that acts, `inner` what plays the inner loops of its tools."""

    tools: ToolRegistry
    lifecycle_tools: ToolRegistry
    workspace: Workspace
    deadline: Deadline
    limits: ToolLimits
    limiter: ConcurrencyLimiter
    task_id: str
    loop_name: str
    max_repeats: int
    run_nested: NestedLoopRunner
    state: Mapping[str, Any]

    def run_lifecycle_calls(
        self, step: int, calls: Sequence[ToolCall], cut: str
    ) -> tuple[list[LoopEvent], tuple[str, FinalOutput] | None]:
        """Runs the lifecycle calls among `calls`; the first ending wins, and nothing after it is run."""
        results, told, ending = [], [], None
        for call in calls:
            if ending is not None:
                results.append(_tool_result(call, NOT_RUN_TEXT))
            elif call.name in self.lifecycle_tools:
                outcome = (
                    (_tool_result(call, TRUNCATED_CALL), None) if call.id == cut else self._run_lifecycle_call(call)
                )
                results.append(outcome[0])
                told += [Progress(step, outcome[1].text)] if isinstance(outcome[1], ProgressUpdate) else []
                ending = (call.name, outcome[1]) if isinstance(outcome[1], FinalOutput) else None
        if ending is not None:  # ordinary calls written before the ending are not run either
            done = {result.call.id for result in results}
            results += [_tool_result(call, NOT_RUN_TEXT) for call in calls if call.id not in done]
        return [*told, *([ToolsFinished(step, tuple(results), ran=False)] if results else [])], ending

    async def run_tool_calls(
        self, step: int, turns: Sequence[Turn], *, interrupted: bool, cut: str
    ) -> AsyncGenerator[LoopEvent]:
        """Runs the calls that have no result yet, but for those that wait for the user's word.

        `interrupted` says that an earlier run may have started them and died; `cut` is the id of the call that was cut
        off at the output limit. Raises OutOfTime, after telling what ended, where some must wait for another run.
        """
        events: asyncio.Queue[Progress | asyncio.Task[ToolResult | None]] = asyncio.Queue()
        loop = asyncio.get_running_loop()

        def report(text: str) -> None:
            loop.call_soon_threadsafe(events.put_nowait, Progress(step, replace_surrogates(str(text))))

        narrow = asyncio.Semaphore(self.limits.max_parallel_calls)
        running: list[asyncio.Task[ToolResult | None]] = []
        try:
            for call in pending_calls(turns):
                case = self._pending_call(call, turns, interrupted=interrupted, cut=call.id == cut)
                if case.needs_approval(self.max_repeats, self.limits.max_argument_chars):
                    continue
                yield ToolCallStarted(step, call)
                running.append(loop.create_task(self._run_call(case, narrow, report)))
                running[-1].add_done_callback(events.put_nowait)
            async with contextlib.aclosing(_batch_results(step, events, len(running))) as grouped:
                async for event in grouped:
                    yield event
        finally:
            for task in running:
                task.cancel()
            await asyncio.gather(*running, return_exceptions=True)
        if any(task.result() is None for task in running):
            raise DeadlineReached

    @staticmethod
    def fail_calls(step: int, calls: Sequence[ToolCall], why: ToolCallError) -> ToolsFinished:
        """The results of calls that no run will go on with."""
        return ToolsFinished(step, tuple(_tool_result(call, why) for call in calls))

    def _run_lifecycle_call(self, call: ToolCall) -> tuple[ToolResult, FinalOutput | ProgressUpdate | None]:
        tool = self.lifecycle_tools.get(call.name)
        assert tool is not None
        arguments = parse_arguments(call.arguments, tool, self.limits.max_argument_chars)
        if isinstance(arguments, ToolCallError):
            return _tool_result(call, arguments), None
        outcome = tool(**arguments)
        known = {info.name for info in self.workspace.files}
        unknown = [name for name in outcome.files if name not in known] if isinstance(outcome, FinalOutput) else []
        if unknown:
            text = f"no such file: {', '.join(unknown)}; there are: {', '.join(sorted(known)) or 'none'}"
            return _tool_result(call, ToolCallError(text, "unknown_file")), None
        if isinstance(outcome, FinalOutput) and not outcome.text.strip():
            return _tool_result(
                call, ToolCallError("it says nothing; put words for the user into it", "empty_text")
            ), None
        return _tool_result(call, lifecycle_result(outcome)), outcome

    def _pending_call(self, call: ToolCall, turns: Sequence[Turn], *, interrupted: bool, cut: bool) -> PendingCall:
        words = approval_reply(turns, call)
        verdict = None if words is None else parse_decision(words)
        return PendingCall(call, self.tools.get(call.name), count_repeats(turns, call), verdict, cut, interrupted)

    async def _run_call(
        self, case: PendingCall, narrow: asyncio.Semaphore, report: Callable[[str], None]
    ) -> ToolResult | None:
        """The result of one call; None where it has to wait for a run with more time."""
        call, tool = case.call, case.tool
        refusal = case.rejection(self.max_repeats, [*self.tools.names, *self.lifecycle_tools.names])
        if refusal is not None or tool is None:
            return _tool_result(call, refusal or OUTCOME_UNKNOWN)
        async with narrow:
            if self.deadline.remaining() < MIN_START_SECONDS[tool.idempotent]:
                return None
            started = time.monotonic()
            try:
                outcome = await call_tool(
                    tool, case.approved_call().arguments, self._context(call, report), self.limits, self.limiter
                )
            except TaskSuspended:  # by an inner loop
                return None
            if isinstance(outcome, ToolCallError) and outcome.error_type == "timed_out" and self.deadline.passed:
                return None if tool.idempotent else _tool_result(call, OUTCOME_UNKNOWN)
            text = await OutputRenderer(self.workspace, self.limits.max_output_chars)(self._call_id(call), outcome)
        told = "\n".join([text, *case.result_notes()])
        summary = self.tools.summary(call.name, outcome) if isinstance(outcome, Output) else ""
        return _tool_result(call, told, isinstance(outcome, ToolCallError), time.monotonic() - started, summary)

    def _context(self, call: ToolCall, report: Callable[[str], None]) -> Context:
        return Context(
            self.task_id,
            self._call_id(call),
            self.deadline,
            self.workspace,
            report,
            self.state,
            self.run_nested,
            self.limits.max_output_chars,
        )

    def _call_id(self, call: ToolCall) -> str:
        """The call's id, unique among all loops of the task."""
        return f"{self.loop_name}/{call.id}" if self.loop_name else call.id


async def _batch_results(
    step: int, events: "asyncio.Queue[Progress | asyncio.Task[ToolResult | None]]", count: int
) -> AsyncGenerator[LoopEvent]:
    """Progress as it comes; results in batches of those that ended together, LINGER after the first at the latest."""
    clock = asyncio.get_running_loop().time
    while count:
        item: Progress | asyncio.Task[ToolResult | None] | None = await events.get()
        batch: list[ToolResult] = []
        until = 0.0
        while item is not None:
            if isinstance(item, Progress):
                yield item
            else:
                count -= 1
                result = item.result()
                until = until or clock() + BATCH_SECONDS
                batch += [result] if result is not None else []
            item = await _get_before(events, until) if count and batch and clock() < until else None
        if batch:
            yield ToolsFinished(step, tuple(batch))


async def _get_before(
    events: "asyncio.Queue[Progress | asyncio.Task[ToolResult | None]]", until: float
) -> "Progress | asyncio.Task[ToolResult | None] | None":
    try:
        async with asyncio.timeout_at(until):
            return await events.get()
    except TimeoutError:
        return None


def _tool_result(
    call: ToolCall, text: str | ToolCallError, error: bool = False, seconds: float = 0.0, summary: str = ""
) -> ToolResult:
    mistaken = isinstance(text, ToolCallError)
    words = text.render() if isinstance(text, ToolCallError) else text
    return ToolResult(
        call, Turn("tool", words, tool_call_id=call.id, tool_name=call.name), error or mistaken, seconds, summary
    )
