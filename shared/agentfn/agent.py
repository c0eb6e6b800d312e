"""What an agent is."""

import contextlib
import inspect
import re
from collections.abc import AsyncGenerator, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, ClassVar, Protocol

from agentfn.errors import ConfigurationError
from agentfn.models import Model, Sampling
from agentfn.tools import FileInfo, NestedResult, Tool, Toolkit, ToolRegistry

NAME_PATTERN = re.compile(r"[a-z][a-z0-9-]{0,39}")
CURRENT_TIME_TEXT = "It is {now:%A, %d %B %Y, %H:%M} ({zone})."

Instructions = str | Path | Callable[[str], str]


@dataclass(frozen=True)
class Skill:
    """One thing that an agent is good at, as its card tells. One that is not `public` is told to known callers only."""

    id: str
    name: str
    description: str
    tags: tuple[str, ...] = ()
    examples: tuple[str, ...] = ()
    public: bool = True


class TaskContext(Protocol):
    """A task in the hands of an agent: what `Agent.handle` and `Agent.execute_skill` work with."""

    @property
    def id(self) -> str: ...

    @property
    def skill(self) -> str:
        """The id of the skill that the message names, or that the router picked; empty for the default."""

    @property
    def message(self) -> str:
        """What the user asked for."""

    @property
    def files(self) -> tuple[FileInfo, ...]: ...

    def run_stream(self, *, instructions: str | None = None, tools: Iterable[str] | None = None) -> AsyncGenerator[Any]:
        """The loop over the task's transcript, as events. `tools` narrows it to those names."""

    async def run_nested(
        self, name: str, message: str, *, instructions: str = "", tools: Iterable[str] = ()
    ) -> NestedResult:
        """An inner loop, journaled under its own name, which is its alone in the task. Several may run at once.

        When the task goes on in another run, `handle` is called again from its start: a loop that was finished gives
        its result at once, and one that was not goes on, given the same message. One that asks the user, or needs
        another run, ends this one; that is no error and passes through as `Paused`, a BaseException.
        """

    def progress(self, text: str) -> Any:
        """An event to yield: tells the caller how far things are."""

    def completed(self, text: str, files: Iterable[str] | None = None) -> Any:
        """The event to yield last. `files` are names of produced files; None hands over all of them."""


class Agent:
    """Declared by keywords, or by a subclass that sets the same names: both give the same agent.

    `name` is what the agent's function, data and card are called. `instructions` is the system prompt: a text, a file
    that holds one, or a function that makes it of the default: what the toolkits say, the date and the time. A text or
    a file is put before the default; a function may do as it likes. `models` are the agent's own doors, chosen by their
    name in AGENT_MODEL before litellm is asked. `compact_tools` leaves descriptions of parameters out of what the model
    is told, which saves tokens with each call. `modes` are the media types that a message's parts may have.

    Raises ConfigurationError, naming what is wrong.
    """

    name: str = ""
    description: str = ""
    version: str = "0.1.0"
    instructions: Instructions = ""
    tools: Sequence[Tool | Toolkit | Callable[..., Any]] = ()
    skills: Sequence[Skill] = ()
    models: Mapping[str, Callable[[], Model]] = {}
    sampling: Sampling = Sampling()
    force_first_tool: bool = False
    compact_tools: bool = False
    input_modes: Sequence[str] = ("text/plain", "application/json", "application/octet-stream")
    output_modes: Sequence[str] = ("text/plain", "application/octet-stream")

    _field_names: ClassVar[frozenset[str]] = frozenset(
        {
            "name",
            "description",
            "version",
            "instructions",
            "tools",
            "skills",
            "models",
            "sampling",
            "force_first_tool",
            "compact_tools",
            "input_modes",
            "output_modes",
        }
    )

    def __init__(self, **declared: Any) -> None:
        unknown = declared.keys() - self._field_names
        if unknown:
            raise ConfigurationError(
                f"an agent has no {', '.join(sorted(unknown))}; it has {_join_sorted(self._field_names)}"
            )
        for name, value in declared.items():
            setattr(self, name, value)
        written = inspect.getattr_static(self, "instructions")
        if inspect.isfunction(written) and len(inspect.signature(written).parameters) == 1:
            self.instructions = written  # a function that a subclass names, not a method of it
        self.registry = ToolRegistry(self.tools)
        self._check()

    def system_prompt(self, now: datetime) -> str:
        """The system prompt at `now`, which must have a time zone. Raises ConfigurationError for a missing file."""
        clock = CURRENT_TIME_TEXT.format(now=now, zone=now.tzname())
        default = f"{self.registry.instructions}\n\n{clock}".strip()
        match self.instructions:
            case Path() as path:
                text = path.read_text(encoding="utf-8")
            case str() as text:
                pass
            case make:
                return make(default)
        return f"{text.strip()}\n\n{default}".strip()

    async def handle(self, task: TaskContext) -> AsyncGenerator[Any]:
        """How the agent does a task: by default, the skill that its message names. Override it to do otherwise.

        Yields events: those of `task.play()`, `task.progress(…)`, and last `task.completed(…)` or a loop's Final. It is
        called anew in each run, so what it does between its loops must come out the same each time.
        """
        async with contextlib.aclosing(self.execute_skill(task.skill, task.message, task)) as events:
            async for event in events:
                yield event

    async def execute_skill(self, skill_id: str, message: str, task: TaskContext) -> AsyncGenerator[Any]:
        """How the agent does one skill: by default, the loop with all its tools. Override it to do otherwise.

        `skill_id` is empty where neither the message nor a router names one. Yields the loop's events; the last one is
        a Final.
        """
        async with contextlib.aclosing(task.run_stream()) as events:
            async for event in events:
                yield event

    def find_skill(self, skill_id: str) -> Skill | None:
        return next((skill for skill in self.skills if skill.id == skill_id), None)

    def _check(self) -> None:
        if not isinstance(self.name, str) or not NAME_PATTERN.fullmatch(self.name):
            raise ConfigurationError(
                f"an agent's name is lower-case letters, digits and -, at most 40, not {self.name!r}"
            )
        if not self.description:
            raise ConfigurationError(f"agent {self.name}: it needs a description; other agents choose it by that")
        if isinstance(self.instructions, Path) and not self.instructions.is_file():
            raise ConfigurationError(f"agent {self.name}: there is no file {self.instructions} for its instructions")
        ids = [skill.id for skill in self.skills]
        if len(ids) != len(set(ids)):
            raise ConfigurationError(f"agent {self.name}: two skills have the same id among {_join_sorted(ids)}")


def _join_sorted(names: Iterable[str]) -> str:
    return ", ".join(sorted(names))
