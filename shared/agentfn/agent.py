"""The declaration of an agent, and the task context that its own code works with."""

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
    """A skill on the agent's card. One that is not `public` is on the extended card, for authenticated callers only."""

    id: str
    name: str
    description: str
    tags: tuple[str, ...] = ()
    examples: tuple[str, ...] = ()
    public: bool = True


class TaskContext(Protocol):
    """The task that `Agent.handle` and `Agent.execute_skill` work on."""

    @property
    def id(self) -> str: ...

    @property
    def skill(self) -> str:
        """The id of the skill that the message names or the router chose; empty for the default."""

    @property
    def message(self) -> str:
        """The text of the user's last message."""

    @property
    def files(self) -> tuple[FileInfo, ...]: ...

    def run_stream(self, *, instructions: str | None = None, tools: Iterable[str] | None = None) -> AsyncGenerator[Any]:
        """Runs the agent's loop on the task's transcript and yields its events. `tools` names the only tools to use."""

    async def run_nested(
        self, name: str, message: str, *, instructions: str = "", tools: Iterable[str] = ()
    ) -> NestedResult:
        """Runs a nested loop, journaled under its name, which must be unique in the task. Several may run at once.

        Each run of the task calls `handle` from its start. A nested loop that has finished then returns its result at
        once, and an unfinished one continues if it is given the same message. Raises TaskSuspended, a BaseException,
        where the loop asks the user or needs another run: let it pass.
        """

    def progress(self, text: str) -> Any:
        """The event to yield to report progress to the caller."""

    def completed(self, text: str, files: Iterable[str] | None = None) -> Any:
        """The event to yield last. `files` names the produced files to return; None returns all of them."""


class Agent:
    """An agent, declared by keyword arguments or by a subclass that sets the same attributes.

    `name` names the agent's function, data and card. `instructions` is the system prompt: a text or a file, which is
    put before the default (the toolkits' instructions, date and time), or a function from the default to the prompt.
    `models` are model factories; AGENT_MODEL chooses one by name before a provider. `compact_tools` leaves descriptions
    of parameters out of the tools' schemas, which saves tokens. `input_modes` and `output_modes` are media types.

    Raises ConfigurationError, which says what is wrong.
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
                f"Agent got unknown arguments: {_join_sorted(unknown)}; it takes {_join_sorted(self._field_names)}"
            )
        for name, value in declared.items():
            setattr(self, name, value)
        instructions = inspect.getattr_static(self, "instructions")
        if inspect.isfunction(instructions) and len(inspect.signature(instructions).parameters) == 1:
            self.instructions = instructions  # a plain function in a subclass, which Python would bind as a method
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
        """Works on a task: by default, executes the skill that its message names. Override it for another workflow.

        Yields events: those of `task.run_stream()`, `task.progress(…)`, and last `task.completed(…)` or a loop's
        LoopFinished. Each run of the task calls it again, so the code between its loops must be deterministic.
        """
        async with contextlib.aclosing(self.execute_skill(task.skill, task.message, task)) as events:
            async for event in events:
                yield event

    async def execute_skill(self, skill_id: str, message: str, task: TaskContext) -> AsyncGenerator[Any]:
        """Executes one skill: by default, runs the loop with all tools. Override it for other tools or instructions.

        `skill_id` is empty if neither the message nor the router names a skill. Yields the loop's events, last a
        LoopFinished.
        """
        async with contextlib.aclosing(task.run_stream()) as events:
            async for event in events:
                yield event

    def find_skill(self, skill_id: str) -> Skill | None:
        return next((skill for skill in self.skills if skill.id == skill_id), None)

    def _check(self) -> None:
        if not isinstance(self.name, str) or not NAME_PATTERN.fullmatch(self.name):
            raise ConfigurationError(
                f"an agent's name is at most 40 lower-case letters, digits and -, not {self.name!r}"
            )
        if not self.description:
            raise ConfigurationError(f"agent {self.name}: it needs a description, by which other agents choose it")
        if isinstance(self.instructions, Path) and not self.instructions.is_file():
            raise ConfigurationError(f"agent {self.name}: its instructions {self.instructions} are not a file")
        ids = [skill.id for skill in self.skills]
        if len(ids) != len(set(ids)):
            raise ConfigurationError(f"agent {self.name}: two skills have the same id among {_join_sorted(ids)}")


def _join_sorted(names: Iterable[str]) -> str:
    return ", ".join(sorted(names))
