"""How a task goes on, line by line."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from a2a.types import Message, Task, TaskState

from agentfn.cli.terminal import Show, harmless

ENDS = ("completed", "failed", "canceled", "rejected")
WAITS = ("input required", "auth required")


def state_of(task: Task) -> str:
    """As people say it: "input required"."""
    name = TaskState.Name(task.status.state).removeprefix("TASK_STATE_")
    return name.lower().replace("_", " ")


def text_of(message: Message) -> str:
    return harmless("\n".join(part.text for part in message.parts if part.HasField("text"))).strip()


def rests(task: Task) -> bool:
    """It ended, or waits for its user."""
    return state_of(task) in (*ENDS, *WAITS)


@dataclass
class Progress:
    """Tells each state and each thing said once, with the seconds since the beginning."""

    show: Show
    clock: Callable[[], float] = time.monotonic
    _last: tuple[str, str] = ("", "")
    _began: float = field(default=0.0)

    def __post_init__(self) -> None:
        self._began = self.clock()

    def tell(self, task: Task) -> None:
        state = state_of(task)
        text = "" if rests(task) else " ".join(text_of(task.status.message).split())
        if (state, text) == self._last or (state == self._last[0] and not text):
            return
        self._last = (state, text)
        self.show(f"{self.clock() - self._began:7.1f} s  {state:<14}  {text}".rstrip())
