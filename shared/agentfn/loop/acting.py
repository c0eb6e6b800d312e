"""The calls of one assistant turn: lifecycle tools in order, then the agent's own side by side."""

import asyncio
import time
from collections.abc import AsyncGenerator, Callable, Sequence
from dataclasses import dataclass

from agentfn.deadline import Deadline
from agentfn.loop.asking import OutOfTime
from agentfn.loop.events import Event, Progress, ToolCalled, ToolResult, ToolsFinished
from agentfn.loop.lifecycle import LIFECYCLE, Ending, Told
from agentfn.loop.rendering import Rendering
from agentfn.loop.transcript import repeats
from agentfn.models import Call, Turn
from agentfn.tools import Context, Registry, Tool, Workspace
from agentfn.tools.arguments import Mistake, read_arguments
from agentfn.tools.calling import Slots, ToolLimits, call_tool
from agentfn.tools.output import writable

LINGER = 0.1  # seconds; results that come this close to one another share a save
SHORTEST_START = {True: 1.0, False: 3.0}  # by idempotence: with less time left a call is not started
NUDGE_AT = 3

NOT_RUN = "Not run: the task ended in the same turn."
TRUNCATED = Mistake("the reply was cut off at the output limit, so this call was not run; make it shorter", "truncated")
UNKNOWN = Mistake(
    "the run that made this call died before its result was saved: the outcome is unknown. "
    "It may have taken effect; check before doing it again",
    "outcome_unknown",
)


@dataclass(frozen=True)
class Acting:
    """`interrupted` says that an earlier run may have started these calls and died; `cut` is the id of the call that
    was cut off at the output limit, empty where none was.
    """

    tools: Registry
    workspace: Workspace
    deadline: Deadline
    limits: ToolLimits
    slots: Slots
    task_id: str
    max_repeats: int

    def live(self, step: int, calls: Sequence[Call], cut: str) -> tuple[list[Event], tuple[str, Ending] | None]:
        """Runs the lifecycle calls among `calls`; the first ending wins, and nothing after it is run."""
        results, told, ending = [], [], None
        for call in calls:
            if ending is not None:
                results.append(_answer(call, NOT_RUN))
            elif call.name in LIFECYCLE:
                outcome = (_answer(call, TRUNCATED), None) if call.id == cut else self._live(call)
                results.append(outcome[0])
                told += [Progress(step, outcome[1].text)] if isinstance(outcome[1], Told) else []
                ending = (call.name, outcome[1]) if isinstance(outcome[1], Ending) else None
        if ending is not None:  # ordinary calls written before the ending are not run either
            done = {result.call.id for result in results}
            results += [_answer(call, NOT_RUN) for call in calls if call.id not in done]
        return [*told, *([ToolsFinished(step, tuple(results), ran=False)] if results else [])], ending

    async def run(
        self, step: int, calls: Sequence[Call], turns: Sequence[Turn], *, interrupted: bool, cut: str
    ) -> AsyncGenerator[Event]:
        """Runs ordinary calls. Raises OutOfTime, after telling what ended, where some must wait for another run."""
        events: asyncio.Queue[Progress | asyncio.Task[ToolResult | None]] = asyncio.Queue()
        loop = asyncio.get_running_loop()

        def report(text: str) -> None:
            loop.call_soon_threadsafe(events.put_nowait, Progress(step, writable(str(text))))

        narrow = asyncio.Semaphore(self.limits.parallel)
        running: list[asyncio.Task[ToolResult | None]] = []
        try:
            for call in calls:
                yield ToolCalled(step, call)
                refusal = self._refusal(call, turns, interrupted=interrupted, cut=call.id == cut)
                running.append(loop.create_task(self._one(call, refusal, repeats(turns, call), narrow, report)))
                running[-1].add_done_callback(events.put_nowait)
            async for event in _grouped(step, events, len(running)):
                yield event
        finally:
            for task in running:
                task.cancel()
            await asyncio.gather(*running, return_exceptions=True)
        if any(task.result() is None for task in running):
            raise OutOfTime

    def _live(self, call: Call) -> tuple[ToolResult, Ending | Told | None]:
        tool = LIFECYCLE.get(call.name)
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
        return _answer(call, "Done." if isinstance(outcome, Ending) else "The user was told."), outcome

    def _refusal(self, call: Call, turns: Sequence[Turn], *, interrupted: bool, cut: bool) -> Mistake | None:
        tool = self.tools.get(call.name)
        if cut:
            return TRUNCATED
        if tool is None:
            names = ", ".join([*self.tools.names, *LIFECYCLE.names])
            return Mistake(f"there is no tool {call.name!r}; there are: {names}", "unknown_tool")
        if interrupted and not tool.idempotent:
            return UNKNOWN
        if repeats(turns, call) >= self.max_repeats:
            return Mistake(
                "this very call was made too often; its result will not change. Go on without it", "repeated"
            )
        return None

    async def _one(
        self,
        call: Call,
        refusal: Mistake | None,
        before: int,
        narrow: asyncio.Semaphore,
        report: Callable[[str], None],
    ) -> ToolResult | None:
        """The result of one call; None where it has to wait for a run with more time."""
        tool = self.tools.get(call.name)
        if refusal is not None or tool is None:
            return _answer(call, refusal or TRUNCATED)
        async with narrow:
            if self.deadline.left() < SHORTEST_START[tool.idempotent]:
                return None
            started = time.monotonic()
            context = Context(self.task_id, call.id, self.deadline, self.workspace, report)
            outcome = await call_tool(tool, call.arguments, context, self.limits, self.slots)
            if isinstance(outcome, Mistake) and outcome.kind == "timed_out" and self.deadline.passed:
                return self._interrupted(call, tool)
            rendering = Rendering(self.workspace, self.limits.output_chars)
            text = await asyncio.to_thread(rendering, call, outcome)
        if before + 1 >= NUDGE_AT:
            text += f"\n(This is the same call as the last {before}; calling it again will not help.)"
        return _answer(call, text, isinstance(outcome, Mistake), time.monotonic() - started)

    def _interrupted(self, call: Call, tool: Tool) -> ToolResult | None:
        return None if tool.idempotent else _answer(call, UNKNOWN)


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


def _answer(call: Call, text: str | Mistake, error: bool = False, seconds: float = 0.0) -> ToolResult:
    mistaken = isinstance(text, Mistake)
    words = text.render() if isinstance(text, Mistake) else text
    return ToolResult(call, Turn("tool", words, call_id=call.id, name=call.name), error or mistaken, seconds)
