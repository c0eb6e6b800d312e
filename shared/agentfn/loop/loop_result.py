"""How a loop ended."""

from dataclasses import dataclass, field
from typing import Any, Literal

from agentfn.models import ToolCall, Turn, Usage
from agentfn.tools import FileInfo

LoopStatus = Literal["completed", "input_required", "auth_required", "rejected", "failed", "suspended"]
LIMIT_REASONS = frozenset({"max_steps", "max_tokens", "max_cost", "out_of_time", "length"})


@dataclass(frozen=True)
class CallRecord:
    """One call of one step. `seconds` is None where the call was made in an earlier run."""

    name: str
    arguments: str
    result: str
    is_error: bool = False
    seconds: float | None = None


@dataclass(frozen=True)
class Step:
    index: int
    text: str
    calls: tuple[CallRecord, ...] = ()


@dataclass(frozen=True)
class LoopResult:
    """`str()` of it is the text: the answer, the question to the user, or the reason.

    `finish_reason` is "answer", the name of the lifecycle tool that ended it, "approval" where `call` needs the user's
    yes, a limit that was met ("max_steps", "max_tokens", "max_cost", "out_of_time", "length"), or what went wrong
    ("model_error", "content_filter", "empty_answer"). `resume_in` is how many seconds a suspended loop should rest
    before it goes on. `seconds` counts this run only; steps and usage count the whole transcript since the user's last
    turn. `loop` names the inner loop that asks the user; it is empty where that is the task's own.
    """

    status: LoopStatus
    text: str = ""
    finish_reason: str = "answer"
    files: tuple[FileInfo, ...] = ()
    auth_scheme: str = ""
    call: ToolCall | None = None
    progress: tuple[str, ...] = ()
    steps: tuple[Step, ...] = ()
    seconds: float = 0.0
    usage: Usage = field(default_factory=Usage)
    transcript: tuple[Turn, ...] = ()
    resume_in_seconds: float = 0.0
    loop: str = ""

    def __str__(self) -> str:
        return self.text

    @property
    def total_steps(self) -> int:
        return len(self.steps)

    @property
    def partial(self) -> bool:
        """Whether a limit ended it before the model was done."""
        return self.status == "completed" and self.finish_reason in LIMIT_REASONS

    def to_json(self) -> dict[str, Any]:
        return {
            "status": self.status,
            "text": self.text,
            "finish_reason": self.finish_reason,
            "files": [vars(info) for info in self.files],
            "total_steps": self.total_steps,
            "seconds": round(self.seconds, 3),
            "usage": self.usage.to_json(),
        }
