"""The calls of one assistant turn: lifecycle tools in order, then the agent's own side by side."""

import asyncio
import contextlib
import time
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from agentfn.deadline import Deadline
from agentfn.loop.loop_events import Event, Progress, ToolCalled, ToolResult, ToolsFinished
from agentfn.loop.model_retry import OutOfTime
from agentfn.loop.tool_calls.approval import read_verdict
from agentfn.loop.tool_calls.lifecycle_tools import Ending, Told, result_of
from agentfn.loop.tool_calls.pending_call import TRUNCATED, UNKNOWN, Case
from agentfn.loop.transcript import repeats, unanswered, verdict_on
from agentfn.models import Call, Turn
from agentfn.tools import Context, Inner, Output, Paused, Registry, Workspace
from agentfn.tools.execution import Slots, ToolLimits, call_tool
from agentfn.tools.output_renderer import Rendering
from agentfn.tools.tool_arguments import Mistake, read_arguments
from agentfn.tools.tool_output import writable

LINGER = 0.1  # seconds; results that come this close to one another share a save
SHORTEST_START = {True: 1.0, False: 3.0}  # by idempotence: with less time left a call is not started

NOT_RUN = "Not run: the task ended in the same turn."
NOT_DONE = Mistake("the time was over before this call had a result", "out_of_time")


@dataclass(frozen=True)
class Acting:
    """`loop` is the name of the loop that acts, `inner` what plays the inner loops of its tools."""

    tools: Registry
    lifecycle: Registry
    workspace: Workspace
    deadline: Deadline
    limits: ToolLimits
    slots: Slots
    task_id: str
    loop: str
    max_repeats: int
    inner: Inner
    state: Mapping[str, Any]

    def live(self, step: int, calls: Sequence[Call], cut: str) -> tuple[list[Event], tuple[str, Ending] | None]:
        """Runs the lifecycle calls among `calls`; the first ending wins, and nothing after it is run."""
        results, told, ending = [], [], None
        for call in calls:
            if ending is not None:
                results.append(_answer(call, NOT_RUN))
            elif call.name in self.lifecycle:
                outcome = (_answer(call, TRUNCATED), None) if call.id == cut else self._live(call)
                results.append(outcome[0])
                told += [Progress(step, outcome[1].text)] if isinstance(outcome[1], Told) else []
                ending = (call.name, outcome[1]) if isinstance(outcome[1], Ending) else None
        if ending is not None:  # ordinary calls written before the ending are not run either
            done = {result.call.id for result in results}
            results += [_answer(call, NOT_RUN) for call in calls if call.id not in done]
        return [*told, *([ToolsFinished(step, tuple(results), ran=False)] if results else [])], ending

    async def run(self, step: int, turns: Sequence[Turn], *, interrupted: bool, cut: str) -> AsyncGenerator[Event]:
        """Runs the calls that have no result yet, but for those that wait for the user's word.

        `interrupted` says that an earlier run may have started them and died; `cut` is the id of the call that was cut
        off at the output limit. Raises OutOfTime, after telling what ended, where some must wait for another run.
        """
        events: asyncio.Queue[Progress | asyncio.Task[ToolResult | None]] = asyncio.Queue()
        loop = asyncio.get_running_loop()

        def report(text: str) -> None:
            loop.call_soon_threadsafe(events.put_nowait, Progress(step, writable(str(text))))

        narrow = asyncio.Semaphore(self.limits.parallel)
        running: list[asyncio.Task[ToolResult | None]] = []
        try:
            for call in unanswered(turns):
                case = self._case(call, turns, interrupted=interrupted, cut=call.id == cut)
                if case.waits(self.max_repeats, self.limits.argument_chars):
                    continue
                yield ToolCalled(step, call)
                running.append(loop.create_task(self._one(case, narrow, report)))
                running[-1].add_done_callback(events.put_nowait)
            async with contextlib.aclosing(_grouped(step, events, len(running))) as grouped:
                async for event in grouped:
                    yield event
        finally:
            for task in running:
                task.cancel()
            await asyncio.gather(*running, return_exceptions=True)
        if any(task.result() is None for task in running):
            raise OutOfTime

    @staticmethod
    def unfinished(step: int, calls: Sequence[Call], why: Mistake) -> ToolsFinished:
        """The results of calls that no run will go on with."""
        return ToolsFinished(step, tuple(_answer(call, why) for call in calls))

    def _live(self, call: Call) -> tuple[ToolResult, Ending | Told | None]:
        tool = self.lifecycle.get(call.name)
        assert tool is not None
        arguments = read_arguments(call.arguments, tool, self.limits.argument_chars)
        if isinstance(arguments, Mistake):
            return _answer(call, arguments), None
        outcome = tool(**arguments)
        known = {info.name for info in self.workspace.files}
        unknown = [name for name in outcome.files if name not in known] if isinstance(outcome, Ending) else []
        if unknown:
            text = f"no such file: {', '.join(unknown)}; there are: {', '.join(sorted(known)) or 'none'}"
            return _answer(call, Mistake(text, "unknown_file")), None
        if isinstance(outcome, Ending) and not outcome.text.strip():
            return _answer(call, Mistake("it says nothing; put words for the user into it", "empty_text")), None
        return _answer(call, result_of(outcome)), outcome

    def _case(self, call: Call, turns: Sequence[Turn], *, interrupted: bool, cut: bool) -> Case:
        words = verdict_on(turns, call)
        verdict = None if words is None else read_verdict(words)
        return Case(call, self.tools.get(call.name), repeats(turns, call), verdict, cut, interrupted)

    async def _one(self, case: Case, narrow: asyncio.Semaphore, report: Callable[[str], None]) -> ToolResult | None:
        """The result of one call; None where it has to wait for a run with more time."""
        call, tool = case.call, case.tool
        refusal = case.refusal(self.max_repeats, [*self.tools.names, *self.lifecycle.names])
        if refusal is not None or tool is None:
            return _answer(call, refusal or UNKNOWN)
        async with narrow:
            if self.deadline.left() < SHORTEST_START[tool.idempotent]:
                return None
            started = time.monotonic()
            try:
                outcome = await call_tool(
                    tool, case.approved().arguments, self._context(call, report), self.limits, self.slots
                )
            except Paused:  # by an inner loop
                return None
            if isinstance(outcome, Mistake) and outcome.kind == "timed_out" and self.deadline.passed:
                return None if tool.idempotent else _answer(call, UNKNOWN)
            text = await Rendering(self.workspace, self.limits.output_chars)(self._id(call), outcome)
        told = "\n".join([text, *case.notes()])
        summary = self.tools.summary(call.name, outcome) if isinstance(outcome, Output) else ""
        return _answer(call, told, isinstance(outcome, Mistake), time.monotonic() - started, summary)

    def _context(self, call: Call, report: Callable[[str], None]) -> Context:
        return Context(
            self.task_id,
            self._id(call),
            self.deadline,
            self.workspace,
            report,
            self.state,
            self.inner,
            self.limits.output_chars,
        )

    def _id(self, call: Call) -> str:
        """The call's id, unique among all loops of the task."""
        return f"{self.loop}/{call.id}" if self.loop else call.id


async def _grouped(
    step: int, events: "asyncio.Queue[Progress | asyncio.Task[ToolResult | None]]", count: int
) -> AsyncGenerator[Event]:
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
                until = until or clock() + LINGER
                batch += [result] if result is not None else []
            item = await _before(events, until) if count and batch and clock() < until else None
        if batch:
            yield ToolsFinished(step, tuple(batch))


async def _before(
    events: "asyncio.Queue[Progress | asyncio.Task[ToolResult | None]]", until: float
) -> "Progress | asyncio.Task[ToolResult | None] | None":
    try:
        async with asyncio.timeout_at(until):
            return await events.get()
    except TimeoutError:
        return None


def _answer(
    call: Call, text: str | Mistake, error: bool = False, seconds: float = 0.0, summary: str = ""
) -> ToolResult:
    mistaken = isinstance(text, Mistake)
    words = text.render() if isinstance(text, Mistake) else text
    return ToolResult(call, Turn("tool", words, call_id=call.id, name=call.name), error or mistaken, seconds, summary)
