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
from agentfn.tools import FileInfo, Registry, Tool

NAME = re.compile(r"[a-z][a-z0-9-]{0,39}")
CLOCK = "It is {now:%A, %d %B %Y, %H:%M} ({zone})."

Instructions = str | Path | Callable[[str], str]


@dataclass(frozen=True)
class Skill:
    """One thing that an agent is good at, as its card tells."""

    id: str
    name: str
    description: str
    tags: tuple[str, ...] = ()
    examples: tuple[str, ...] = ()


class Work(Protocol):
    """A task in the hands of an agent: what `Agent.execute_skill` works with."""

    @property
    def id(self) -> str: ...

    @property
    def files(self) -> tuple[FileInfo, ...]: ...

    def play(self, *, instructions: str | None = None, tools: Iterable[str] | None = None) -> AsyncGenerator[Any]:
        """The loop over the task's transcript, as events. `tools` narrows it to those names."""


class Agent:
    """Declared by keywords, or by a subclass that sets the same names: both give the same agent.

    `name` is what the agent's function, data and card are called. `instructions` is the system prompt: a text, a file
    that holds one, or a function that makes it of the default, which says the date and the time. A text or a file is
    put before the default; a function may do as it likes. `models` are the agent's own doors, chosen by their name in
    AGENT_MODEL before litellm is asked. `modes` are the media types that a message's parts may have.

    Raises ConfigurationError, naming what is wrong.
    """

    name: str = ""
    description: str = ""
    version: str = "0.1.0"
    instructions: Instructions = ""
    tools: Sequence[Tool | Callable[..., Any]] = ()
    skills: Sequence[Skill] = ()
    models: Mapping[str, Callable[[], Model]] = {}
    sampling: Sampling = Sampling()
    force_first_tool: bool = False
    input_modes: Sequence[str] = ("text/plain", "application/json", "application/octet-stream")
    output_modes: Sequence[str] = ("text/plain", "application/octet-stream")

    _names: ClassVar[frozenset[str]] = frozenset(
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
            "input_modes",
            "output_modes",
        }
    )

    def __init__(self, **declared: Any) -> None:
        unknown = declared.keys() - self._names
        if unknown:
            raise ConfigurationError(f"an agent has no {', '.join(sorted(unknown))}; it has {_list(self._names)}")
        for name, value in declared.items():
            setattr(self, name, value)
        written = inspect.getattr_static(self, "instructions")
        if inspect.isfunction(written) and len(inspect.signature(written).parameters) == 1:
            self.instructions = written  # a function that a subclass names, not a method of it
        self.registry = Registry(self.tools)
        self._check()

    def system(self, now: datetime) -> str:
        """The system prompt at `now`, which must have a time zone. Raises ConfigurationError for a missing file."""
        default = CLOCK.format(now=now, zone=now.tzname())
        match self.instructions:
            case Path() as path:
                text = path.read_text(encoding="utf-8")
            case str() as text:
                pass
            case make:
                return make(default)
        return f"{text.strip()}\n\n{default}".strip()

    async def execute_skill(self, skill_id: str, message: str, task: Work) -> AsyncGenerator[Any]:
        """How the agent does one skill: by default, the loop with all its tools. Override it to do otherwise.

        `skill_id` is empty where the message names none. Yields the loop's events; the last one is a Final.
        """
        async with contextlib.aclosing(task.play()) as events:
            async for event in events:
                yield event

    def skill(self, skill_id: str) -> Skill | None:
        return next((skill for skill in self.skills if skill.id == skill_id), None)

    def _check(self) -> None:
        if not isinstance(self.name, str) or not NAME.fullmatch(self.name):
            raise ConfigurationError(
                f"an agent's name is lower-case letters, digits and -, at most 40, not {self.name!r}"
            )
        if not self.description:
            raise ConfigurationError(f"agent {self.name}: it needs a description; other agents choose it by that")
        if isinstance(self.instructions, Path) and not self.instructions.is_file():
            raise ConfigurationError(f"agent {self.name}: there is no file {self.instructions} for its instructions")
        ids = [skill.id for skill in self.skills]
        if len(ids) != len(set(ids)):
            raise ConfigurationError(f"agent {self.name}: two skills have the same id among {_list(ids)}")


def _list(names: Iterable[str]) -> str:
    return ", ".join(sorted(names))
