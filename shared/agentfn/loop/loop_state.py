"""The state of a running loop: its transcript, its step, and what its result needs."""

import time
from collections.abc import Iterable
from typing import TypeVar

from agentfn.loop.loop_events import LoopEvent, Progress, ToolsFinished
from agentfn.loop.loop_result import LoopResult, LoopStatus
from agentfn.loop.transcript import build_steps, count_steps, order_turns, total_usage, turns_since_user
from agentfn.models import ToolCall, Turn
from agentfn.tools import FileRecord

E = TypeVar("E", bound=LoopEvent)


class LoopState:
    """`turns` is the transcript in order. `step` is the current step, counted since the user's last turn."""

    def __init__(self, transcript: Iterable[Turn]) -> None:
        self.turns = order_turns(transcript)
        self.step = count_steps(self.turns)
        self._seconds: dict[str, float] = {}
        self._failed_call_ids: set[str] = set()
        self._progress: list[str] = []
        self._started = time.monotonic()

    def record(self, event: E) -> E:
        """Adds an event to the state and returns it."""
        if isinstance(event, ToolsFinished):
            self._seconds |= {result.call.id: result.seconds for result in event.results}
            self._failed_call_ids |= {result.call.id for result in event.results if result.is_error}
        if isinstance(event, Progress):
            self._progress.append(event.text)
        if event.turns:
            indexes = range(len(self.turns) - 1, -1, -1)
            last = next((index for index in indexes if self.turns[index].role == "assistant"), 0)
            self.turns[last:] = order_turns([*self.turns[last:], *event.turns])
        return event

    def build_result(
        self,
        status: LoopStatus,
        text: str,
        finish_reason: str,
        files: tuple[FileRecord, ...] = (),
        *,
        auth_scheme: str = "",
        call: ToolCall | None = None,
        resume_in_seconds: float = 0.0,
    ) -> LoopResult:
        return LoopResult(
            status=status,
            text=text,
            finish_reason=finish_reason,
            files=files,
            auth_scheme=auth_scheme,
            call=call,
            progress=tuple(self._progress),
            steps=build_steps(self.turns, self._seconds, self._failed_call_ids),
            seconds=time.monotonic() - self._started,
            usage=total_usage(turns_since_user(self.turns)),
            transcript=tuple(self.turns),
            resume_in_seconds=resume_in_seconds,
        )
