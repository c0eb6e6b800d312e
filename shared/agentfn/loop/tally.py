"""What has happened in one play of a loop, and the result that comes of it."""

import time
from collections.abc import Iterable
from typing import TypeVar

from agentfn.loop.events import Event, Notice, Progress, ToolsFinished
from agentfn.loop.lifecycle import Ending
from agentfn.loop.result import Result, Status
from agentfn.loop.transcript import in_order, since_user, steps_of, usage_of
from agentfn.models import Turn
from agentfn.tools import FileInfo

E = TypeVar("E", bound=Event)


class Tally:
    def __init__(self, transcript: Iterable[Turn]) -> None:
        self.turns = in_order(transcript)
        self._seconds: dict[str, float] = {}
        self._mistakes: set[str] = set()
        self._progress: list[str] = []
        self._notices: list[Notice] = []
        self._started = time.monotonic()

    def keep(self, event: E) -> E:
        """Takes note of an event and gives it back."""
        if isinstance(event, ToolsFinished):
            self._seconds |= {result.call.id: result.seconds for result in event.results}
            self._mistakes |= {result.call.id for result in event.results if result.error}
        if isinstance(event, Progress):
            self._progress.append(event.text)
        if event.turns:
            self.turns = in_order([*self.turns, *event.turns])
        return event

    def notice(self, step: int, text: str) -> None:
        """Takes note of what is to be told as soon as there is a chance."""
        self._notices.append(Notice(step, text))

    def notices(self) -> list[Notice]:
        """What was not told yet."""
        told, self._notices = self._notices, []
        return told

    def result(
        self,
        status: Status,
        text: str,
        finish_reason: str,
        files: tuple[FileInfo, ...] = (),
        auth_scheme: str = "",
        resume_in: float = 0.0,
    ) -> Result:
        return Result(
            status=status,
            text=text,
            finish_reason=finish_reason,
            files=files,
            auth_scheme=auth_scheme,
            progress=tuple(self._progress),
            steps=steps_of(self.turns, self._seconds, self._mistakes),
            seconds=time.monotonic() - self._started,
            usage=usage_of(since_user(self.turns)),
            transcript=tuple(self.turns),
            resume_in=resume_in,
        )

    def ended(self, ending: Ending, tool: str, produced: tuple[FileInfo, ...]) -> Result:
        """The result of a lifecycle tool; `produced` are all files that may be handed over."""
        chosen = tuple(info for info in produced if info.name in ending.files) if ending.files else produced
        files = chosen if ending.status == "completed" else ()
        return self.result(ending.status, ending.text, tool, files, ending.auth_scheme)
