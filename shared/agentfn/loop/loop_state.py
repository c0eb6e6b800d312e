"""What has happened in one play of a loop, and the result that comes of it."""

import time
from collections.abc import Iterable
from typing import TypeVar

from agentfn.loop.loop_events import Event, Progress, ToolsFinished
from agentfn.loop.loop_result import Result, Status
from agentfn.loop.transcript import in_order, since_user, steps_of, usage_of
from agentfn.models import Call, Turn
from agentfn.tools import FileInfo

E = TypeVar("E", bound=Event)


class Tally:
    def __init__(self, transcript: Iterable[Turn]) -> None:
        self.turns = in_order(transcript)
        self._seconds: dict[str, float] = {}
        self._mistakes: set[str] = set()
        self._progress: list[str] = []
        self._started = time.monotonic()

    def keep(self, event: E) -> E:
        """Takes note of an event and gives it back."""
        if isinstance(event, ToolsFinished):
            self._seconds |= {result.call.id: result.seconds for result in event.results}
            self._mistakes |= {result.call.id for result in event.results if result.error}
        if isinstance(event, Progress):
            self._progress.append(event.text)
        if event.turns:
            tail = next((n for n in range(len(self.turns) - 1, -1, -1) if self.turns[n].role == "assistant"), 0)
            self.turns[tail:] = in_order([*self.turns[tail:], *event.turns])
        return event

    def result(
        self,
        status: Status,
        text: str,
        finish_reason: str,
        files: tuple[FileInfo, ...] = (),
        *,
        auth_scheme: str = "",
        call: Call | None = None,
        resume_in: float = 0.0,
    ) -> Result:
        return Result(
            status=status,
            text=text,
            finish_reason=finish_reason,
            files=files,
            auth_scheme=auth_scheme,
            call=call,
            progress=tuple(self._progress),
            steps=steps_of(self.turns, self._seconds, self._mistakes),
            seconds=time.monotonic() - self._started,
            usage=usage_of(since_user(self.turns)),
            transcript=tuple(self.turns),
            resume_in=resume_in,
        )
