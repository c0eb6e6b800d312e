"""The events of a running loop. Each of them can be serialised to JSON."""

import dataclasses
from dataclasses import dataclass, field
from typing import Any, ClassVar

from agentfn.loop.loop_result import LoopResult
from agentfn.models import ToolCall, Turn
from agentfn.models.messages import FinishReason


@dataclass(frozen=True)
class LoopEvent:
    """`loop_name` is the name of the nested loop that yields the event; empty for the task's main loop."""

    kind: ClassVar[str] = "event"
    step: int
    loop_name: str = field(default="", kw_only=True)

    @property
    def turns(self) -> tuple[Turn, ...]:
        """New turns of the transcript, which the reader of the events saves."""
        turns, name = self._new_turns(), self.loop_name
        return tuple(dataclasses.replace(turn, loop_name=name) for turn in turns) if name else turns

    @property
    def urgent(self) -> bool:
        """Whether `turns` must be saved before the next event is read: a tool with effects runs next, or has run."""
        return False

    def _new_turns(self) -> tuple[Turn, ...]:
        return ()

    def to_json(self) -> dict[str, Any]:
        fields = {name: _to_json(value) for name, value in vars(self).items() if name != "loop_name" or value}
        return {"kind": self.kind, **fields}


@dataclass(frozen=True)
class StepStarted(LoopEvent):
    """The model is called next."""

    kind: ClassVar[str] = "step_started"


@dataclass(frozen=True)
class TextDelta(LoopEvent):
    """A chunk of the text that the model writes. `offset` is its position in the turn's text, in characters.

    All text that was sent earlier from that position on is replaced: a stream that is retried may give another text.
    """

    kind: ClassVar[str] = "text_delta"
    text: str
    offset: int


@dataclass(frozen=True)
class ModelTurn(LoopEvent):
    """The model's complete turn. `runs_tools` says that tools of the agent run next."""

    kind: ClassVar[str] = "model_turn"
    turn: Turn
    runs_tools: bool
    finish_reason: FinishReason = "stop"

    def _new_turns(self) -> tuple[Turn, ...]:
        return (self.turn,)

    @property
    def urgent(self) -> bool:
        return self.runs_tools or bool(self.loop_name)


@dataclass(frozen=True)
class ToolCallStarted(LoopEvent):
    """A tool call is started."""

    kind: ClassVar[str] = "tool_called"
    call: ToolCall


@dataclass(frozen=True)
class ToolResult:
    """The result of `call`, as `turn`. `seconds` is how long it took, `is_error` whether the model reads an error.

    `summary` is one line for the caller, such as "3 matches".
    """

    call: ToolCall
    turn: Turn
    is_error: bool = False
    seconds: float = 0.0
    summary: str = ""


@dataclass(frozen=True)
class ToolsFinished(LoopEvent):
    """Calls that finished at about the same time, saved together. `ran` is False if none of them had an effect."""

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
    """A progress message from a tool or the model to the caller."""

    kind: ClassVar[str] = "progress"
    text: str


@dataclass(frozen=True)
class Notice(LoopEvent):
    """A message for the operator, not for the caller: a retry, or an unusable response."""

    kind: ClassVar[str] = "notice"
    text: str


@dataclass(frozen=True)
class LoopFinished(LoopEvent):
    """The loop has ended. Always the last event."""

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
