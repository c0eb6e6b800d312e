"""What a loop tells while it plays. Every event serialises to JSON.

`turns` are new entries of the transcript. Whoever listens keeps them: at once, before asking for the next event, where
the event is `urgent` (a tool with effects runs next, or has run), else with the next save. `loop` names the inner loop
that tells; the task's own has no name.
"""

import dataclasses
from dataclasses import dataclass, field
from typing import Any, ClassVar

from agentfn.loop.loop_result import LoopResult
from agentfn.models import ToolCall, Turn
from agentfn.models.messages import FinishReason


@dataclass(frozen=True)
class LoopEvent:
    kind: ClassVar[str] = "event"
    step: int
    loop: str = field(default="", kw_only=True)

    @property
    def turns(self) -> tuple[Turn, ...]:
        turns = self._new_turns()
        return tuple(dataclasses.replace(turn, loop_name=self.loop) for turn in turns) if self.loop else turns

    @property
    def urgent(self) -> bool:
        return False

    def _new_turns(self) -> tuple[Turn, ...]:
        return ()

    def to_json(self) -> dict[str, Any]:
        shape = {name: _to_json(value) for name, value in vars(self).items() if name != "loop" or value}
        return {"kind": self.kind, **shape}


@dataclass(frozen=True)
class StepStarted(LoopEvent):
    kind: ClassVar[str] = "step_started"


@dataclass(frozen=True)
class TextDelta(LoopEvent):
    """A piece of the text that the model is producing. It goes to `offset` of that turn's text, in characters.

    Whatever was told past there before is void: a stream that broke may come out differently the second time.
    """

    kind: ClassVar[str] = "text_delta"
    text: str
    offset: int


@dataclass(frozen=True)
class ModelTurn(LoopEvent):
    """`acts` says that tools of the agent's own run next."""

    kind: ClassVar[str] = "model_turn"
    turn: Turn
    runs_tools: bool
    finish_reason: FinishReason = "stop"

    def _new_turns(self) -> tuple[Turn, ...]:
        return (self.turn,)

    @property
    def urgent(self) -> bool:
        return self.runs_tools or bool(self.loop)


@dataclass(frozen=True)
class ToolCallStarted(LoopEvent):
    kind: ClassVar[str] = "tool_called"
    call: ToolCall


@dataclass(frozen=True)
class ToolResult:
    """`turn` answers `call`. `seconds` is how long it took; `error` whether the model was told of a mistake.

    `summary` is one line for whoever watches, as "3 matches".
    """

    call: ToolCall
    turn: Turn
    is_error: bool = False
    seconds: float = 0.0
    summary: str = ""


@dataclass(frozen=True)
class ToolsFinished(LoopEvent):
    """Calls that ended at about the same time: one save keeps them all. `ran` is False where none had an effect."""

    kind: ClassVar[str] = "tools_finished"
    results: tuple[ToolResult, ...]
    ran: bool = True

    def _new_turns(self) -> tuple[Turn, ...]:
        return tuple(result.turn for result in self.results)

    @property
    def urgent(self) -> bool:
        return self.ran


@dataclass(frozen=True)
class Progress(LoopEvent):
    kind: ClassVar[str] = "progress"
    text: str


@dataclass(frozen=True)
class Notice(LoopEvent):
    """Something that the operator may want to know and the caller need not: a retry, a nudge."""

    kind: ClassVar[str] = "notice"
    text: str


@dataclass(frozen=True)
class LoopFinished(LoopEvent):
    kind: ClassVar[str] = "final"
    result: LoopResult


def _to_json(value: Any) -> Any:
    if isinstance(value, Turn | LoopResult):
        return value.to_json()
    if isinstance(value, tuple):
        return [_to_json(item) for item in value]
    if dataclasses.is_dataclass(value):
        return {name: _to_json(item) for name, item in vars(value).items()}
    return value
