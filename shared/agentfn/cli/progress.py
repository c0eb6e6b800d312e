"""Prints a task's progress, line by line."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from a2a.types import Message, Task, TaskState

from agentfn.cli.terminal import PrintLine, strip_control_chars

TERMINAL_STATES = ("completed", "failed", "canceled", "rejected")
INTERRUPTED_STATES = ("input required", "auth required")


def state_name(task: Task) -> str:
    """The task's state in lower case with spaces, such as "input required"."""
    name = TaskState.Name(task.status.state).removeprefix("TASK_STATE_")
    return name.lower().replace("_", " ")


def message_text(message: Message) -> str:
    return strip_control_chars("\n".join(part.text for part in message.parts if part.HasField("text"))).strip()


def is_finished_or_interrupted(task: Task) -> bool:
    """Whether the task ended, or waits for the user."""
    return state_name(task) in (*TERMINAL_STATES, *INTERRUPTED_STATES)


@dataclass
class ProgressPrinter:
    """Prints each new state or status message once, with the seconds since the start."""

    show: PrintLine
    clock: Callable[[], float] = time.monotonic
    _last: tuple[str, str] = ("", "")
    _start_time: float = field(default=0.0)

    def __post_init__(self) -> None:
        self._start_time = self.clock()

    def update(self, task: Task) -> None:
        state = state_name(task)
        text = "" if is_finished_or_interrupted(task) else " ".join(message_text(task.status.message).split())
        if (state, text) == self._last or (state == self._last[0] and not text):
            return
        self._last = (state, text)
        self.show(f"{self.clock() - self._start_time:7.1f} s  {state:<14}  {text}".rstrip())
