"""The result of a loop."""

from dataclasses import dataclass, field
from typing import Any, Literal

from agentfn.models import ToolCall, Turn, Usage
from agentfn.tools import FileRecord

LoopStatus = Literal["completed", "input_required", "auth_required", "rejected", "failed", "suspended"]
LIMIT_REASONS = frozenset({"max_steps", "max_tokens", "max_cost", "out_of_time", "length"})


@dataclass(frozen=True)
class CallRecord:
    """One tool call of a step. `seconds` is None if the call was made in an earlier run."""

    name: str
    arguments: str
    result: str
    is_error: bool = False
    seconds: float | None = None


@dataclass(frozen=True)
class Step:
    """A model turn and its tool calls. `index` counts from 1."""

    index: int
    text: str
    calls: tuple[CallRecord, ...] = ()


@dataclass(frozen=True)
class LoopResult:
    """`text` is the answer, the question to the user, or the reason of a failure; `str()` returns it.

    `finish_reason` is "answer", the name of the lifecycle tool that ended the loop, "approval" if `call` needs the
    user's approval, a limit ("max_steps", "max_tokens", "max_cost", "out_of_time", "length"), or an error
    ("model_error", "content_filter", "empty_answer"). A suspended loop should continue after `resume_in_seconds`.
    `seconds` is the duration of this run; `steps` and `usage` cover the transcript since the user's last turn.
    `loop_name` is the name of the nested loop that asks the user; empty for the task's main loop.
    """

    status: LoopStatus
    text: str = ""
    finish_reason: str = "answer"
    files: tuple[FileRecord, ...] = ()
    auth_scheme: str = ""
    call: ToolCall | None = None
    progress: tuple[str, ...] = ()
    steps: tuple[Step, ...] = ()
    seconds: float = 0.0
    usage: Usage = field(default_factory=Usage)
    transcript: tuple[Turn, ...] = ()
    resume_in_seconds: float = 0.0
    loop_name: str = ""

    def __str__(self) -> str:
        return self.text

    @property
    def total_steps(self) -> int:
        return len(self.steps)

    @property
    def partial(self) -> bool:
        """Whether a limit ended the loop before the model had finished."""
        return self.status == "completed" and self.finish_reason in LIMIT_REASONS

    def to_json(self) -> dict[str, Any]:
        return {
            "status": self.status,
            "text": self.text,
            "finish_reason": self.finish_reason,
            "files": [vars(file) for file in self.files],
            "total_steps": self.total_steps,
            "seconds": round(self.seconds, 3),
            "usage": self.usage.to_json(),
        }
