"""What has happened in one play of a loop, and the result that comes of it."""

import time
from collections.abc import Iterable
from typing import TypeVar

from agentfn.loop.loop_events import LoopEvent, Progress, ToolsFinished
from agentfn.loop.loop_result import LoopResult, LoopStatus
from agentfn.loop.transcript import build_steps, order_turns, total_usage, turns_since_user
from agentfn.models import ToolCall, Turn
from agentfn.tools import FileInfo

E = TypeVar("E", bound=LoopEvent)


class LoopState:
    def __init__(self, transcript: Iterable[Turn]) -> None:
        self.turns = order_turns(transcript)
        self._seconds: dict[str, float] = {}
        self._failed_call_ids: set[str] = set()
        self._progress: list[str] = []
        self._started = time.monotonic()

    def record(self, event: E) -> E:
        """Takes note of an event and gives it back."""
        if isinstance(event, ToolsFinished):
            self._seconds |= {result.call.id: result.seconds for result in event.results}
            self._failed_call_ids |= {result.call.id for result in event.results if result.is_error}
        if isinstance(event, Progress):
            self._progress.append(event.text)
        if event.turns:
            tail = next((n for n in range(len(self.turns) - 1, -1, -1) if self.turns[n].role == "assistant"), 0)
            self.turns[tail:] = order_turns([*self.turns[tail:], *event.turns])
        return event

    def build_result(
        self,
        status: LoopStatus,
        text: str,
        finish_reason: str,
        files: tuple[FileInfo, ...] = (),
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
