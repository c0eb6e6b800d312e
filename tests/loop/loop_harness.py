"""Runs a loop without AWS: a workspace in memory, tools that record their effects, and checks of transcripts."""

import asyncio
import dataclasses
import json
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from agentfn import Context, Deadline, File, Output, ToolError, tool
from agentfn.loop import AgentLoop, LoopEnvironment, LoopEvent, LoopFinished, LoopLimits, LoopOptions, LoopResult
from agentfn.loop.loop_limits import RetryPolicy
from agentfn.models import Model, ModelRequest, Turn
from agentfn.models.openai_format import chat_messages
from agentfn.tools import FileLink, FileRecord, ToolRegistry
from agentfn.tools.execution import ConcurrencyLimiter, ToolLimits
from provider_stubs.request_rules import openai_faults

HELLO = Turn("user", "hi")


class MemoryWorkspace:
    """A workspace in memory."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.records: dict[str, tuple[FileRecord, bytes]] = {}

    @property
    def files(self) -> tuple[FileRecord, ...]:
        return tuple(record for record, _ in self.records.values())

    @property
    def produced(self) -> tuple[FileRecord, ...]:
        return tuple(record for record, _ in self.records.values() if record.origin == "produced")

    def local_path(self, name: str) -> Path:
        raise ToolError(f"there is no file {name!r}")

    def save_file(self, file: File, *, hidden: bool = False) -> FileRecord:
        origin = "hidden" if hidden else "produced"
        record = FileRecord(file.name, file.content_type, file.size, origin, f"key/{file.name}")  # type: ignore[arg-type]
        self.records[file.name] = (record, file.read())
        return record

    def add_link(self, link: FileLink) -> FileRecord:
        record = FileRecord(link.name, link.media_type, 0, "produced", url=link.url)
        self.records[link.name] = (record, b"")
        return record


class TracingTools:
    """Tools that record their effects in `effects`; `max_parallel` is the highest number of parallel calls."""

    def __init__(self) -> None:
        self.effects: list[str] = []
        self.max_parallel = 0
        self._running = 0
        self._lock = threading.Lock()
        self.tools = ToolRegistry([self._look(), self._book(), self._nap(), self._draw(), self._give()])

    def _record(self, what: str) -> None:
        with self._lock:
            self.effects.append(what)

    def _look(self) -> Any:
        @tool(idempotent=True)
        def look(at: str = "") -> str:
            """Looks. Has no effect."""
            self._record(f"look {at}")
            return f"saw {at}"

        return look

    def _book(self) -> Any:
        @tool
        def book(seat: int) -> str:
            """Books. Has one."""
            self._record(f"book {seat}")
            return f"booked {seat}"

        return book

    def _nap(self) -> Any:
        @tool(idempotent=True)
        async def nap(seconds: float, name: str = "", chatty: bool = False, context: Context = None) -> str:  # type: ignore[assignment]
            """Sleeps."""
            self._running += 1
            self.max_parallel = max(self.max_parallel, self._running)
            try:
                end = asyncio.get_running_loop().time() + seconds
                while (rest := end - asyncio.get_running_loop().time()) > 0:
                    await asyncio.sleep(min(rest, 0.02) if chatty else rest)
                    if chatty:
                        context.progress("still here")
            finally:
                self._running -= 1
            self._record(f"nap {name}")
            return f"slept {name}"

        return nap

    def _draw(self) -> Any:
        @tool(idempotent=True)
        def draw(context: Context, name: str = "a.svg") -> Output:
            """Draws."""
            context.progress(f"drawing {name}")
            return Output("drawn", files=[File(name, b"<svg/>")])

        return draw

    def _give(self) -> Any:
        @tool(idempotent=True)
        def give(text: str) -> str:
            """Gives back what it got."""
            return text

        return give


@dataclasses.dataclass
class LoopHarness:
    workspace: MemoryWorkspace
    tracing_tools: TracingTools

    def make_loop(self, model: Model, seconds: float = 60, **rest: Any) -> AgentLoop:
        limits = LoopLimits(
            max_steps=rest.pop("steps", 40),
            max_repeats=rest.pop("repeats", 6),
            retry_policy=RetryPolicy(max_retries=rest.pop("retries", 4)),
            tools=ToolLimits(**rest.pop("limits", {})),
        )
        return AgentLoop(
            model=model,
            tools=rest.pop("tools", self.tracing_tools.tools),
            system_prompt="Be brief.",
            limits=limits,
            environment=LoopEnvironment(
                workspace=self.workspace,
                deadline=rest.pop("deadline", None) or Deadline.after(seconds),
                limiter=rest.pop("limiter", None) or ConcurrencyLimiter(16),
                can_suspend=rest.pop("can_suspend", True),
            ),
            options=LoopOptions(**rest),
        )

    def events_of(self, model: Model, *turns: Turn, interrupted: bool = False, **rest: Any) -> list[LoopEvent]:
        async def collect() -> list[LoopEvent]:
            loop = self.make_loop(model, **rest)
            return [event async for event in loop.run_stream(turns or (HELLO,), interrupted=interrupted)]

        events = asyncio.run(collect())
        check_events(events)
        for prompt in getattr(model, "requests", ()):
            check_request(prompt)
        return events

    def run(self, model: Model, *turns: Turn, **rest: Any) -> LoopResult:
        final = self.events_of(model, *turns, **rest)[-1]
        assert isinstance(final, LoopFinished)
        return final.result


def check_transcript(turns: Sequence[Turn]) -> None:
    """Asserts what providers require: each call has one result, in order, directly after its turn, and not empty."""
    waiting: list[str] = []
    seen: set[str] = set()
    for turn in turns:
        if turn.role == "tool":
            assert waiting, f"a result that nobody asked for: {turn}"
            assert turn.tool_call_id == waiting.pop(0)
            assert turn.text.strip()
            continue
        assert not waiting, f"calls without a result: {waiting}"
        waiting = [call.id for call in turn.tool_calls]
        assert len(set(waiting)) == len(waiting)
        assert seen.isdisjoint(waiting)
        assert all(waiting)
        seen.update(waiting)
        assert turn.text.strip() or turn.tool_calls or turn.role == "assistant"
    assert not waiting, f"calls without a result: {waiting}"


def check_request(prompt: ModelRequest) -> None:
    """Asserts that any provider accepts the request, as transcript and as chat messages."""
    assert prompt.turns[0].role == "user"
    assert prompt.turns[-1].role in ("user", "tool")
    check_transcript(prompt.turns)
    assert prompt.tools or not any(turn.tool_calls for turn in prompt.turns), "calls, but no tools are declared"
    chat = chat_messages(prompt)
    assert {message["role"] for message in chat} <= {"system", "user", "assistant", "tool"}
    for message in chat:
        assert message.get("tool_calls") if message["content"] is None else message["content"].strip()
        for call in message.get("tool_calls", ()):
            assert isinstance(json.loads(call["function"]["arguments"]), dict)
    body = {"model": "m", "messages": chat, **({"tools": list(prompt.tools)} if prompt.tools else {})}
    assert openai_faults(body) == []
    json.dumps(chat, ensure_ascii=False, allow_nan=False).encode()  # halves of characters cannot be sent


def check_events(events: Sequence[LoopEvent]) -> None:
    """Asserts that steps never decrease, each event is JSON, and only the last one is final."""
    steps = [event.step for event in events]
    assert steps == sorted(steps)
    assert [isinstance(event, LoopFinished) for event in events] == [False] * (len(events) - 1) + [True]
    for event in events:
        assert json.loads(json.dumps(event.to_json(), allow_nan=False))["kind"] == event.kind
    final = events[-1]
    assert isinstance(final, LoopFinished)
    if final.result.status != "suspended" and final.result.finish_reason != "approval":
        check_transcript(final.result.transcript)


def tool_results(result: LoopResult) -> list[str]:
    return [turn.text for turn in result.transcript if turn.role == "tool"]
