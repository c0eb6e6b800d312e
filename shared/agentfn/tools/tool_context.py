"""What a tool is told beside its arguments."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Protocol

from agentfn.deadline import Deadline
from agentfn.tools.tool_output import File, FileLink

Origin = Literal["attached", "produced", "hidden"]


@dataclass(frozen=True)
class FileInfo:
    """A file of the task. `size` is in bytes."""

    name: str
    media_type: str
    size: int

    def __str__(self) -> str:
        return f"{self.name} ({self.media_type}, {self.size:,} bytes)"


@dataclass(frozen=True)
class FileRecord(FileInfo):
    """Where a file of the task is: an object of the bucket by its `key`, or elsewhere at `url`.

    "attached" came with a message, "produced" may be handed over, "hidden" is for the model only.
    """

    origin: Origin
    key: str = ""
    url: str = ""

    def __str__(self) -> str:
        return f"{self.name} ({self.media_type}, at {self.url})" if self.url else super().__str__()


class Workspace(Protocol):
    """The files of one task, attached and produced. Its methods block: call them from a thread."""

    @property
    def folder(self) -> Path:
        """The run's own folder; gone after the run."""

    @property
    def files(self) -> tuple[FileRecord, ...]:
        """Attached and produced ones, those kept for the model's own use included."""

    @property
    def produced(self) -> tuple[FileRecord, ...]:
        """What may be handed to the caller."""

    def local_path(self, name: str) -> Path:
        """The file as a local path that ends in its name. Raises ToolError, listing the names there are."""

    def save_file(self, file: File, *, hidden: bool = False) -> FileRecord:
        """Stores a produced file; one of the same name is replaced. A hidden one is the model's, not the caller's.

        The name may come out another one: an attached file of that name stays what it is.
        """

    def add_link(self, link: FileLink) -> FileRecord:
        """Takes note of a produced file that lies elsewhere."""


class NestedResult(Protocol):
    """How an inner loop ended: `status` is "completed" where `text` is its answer, "failed" where it is the reason."""

    @property
    def text(self) -> str: ...

    @property
    def status(self) -> str: ...


class NestedLoopRunner(Protocol):
    """Plays a loop inside a task's work, under a name of its own. Raises Paused where it must go on in another run."""

    async def __call__(
        self, name: str, message: str, *, instructions: str = "", tools: Iterable[str] = ()
    ) -> NestedResult: ...


class TaskSuspended(BaseException):
    """Work that goes on in another run of the task, or waits for its user. Not an error: let it pass."""


def find_suspension(error: BaseException | None) -> TaskSuspended | None:
    """The Paused that an error is, or holds: a TaskGroup wraps what its tasks raise."""
    if isinstance(error, BaseExceptionGroup):
        return next((paused for part in error.exceptions if (paused := find_suspension(part))), None)
    return error if isinstance(error, TaskSuspended) else None


async def no_nested_loops(
    name: str, message: str, *, instructions: str = "", tools: Iterable[str] = ()
) -> NestedResult:
    raise RuntimeError(f"there is no loop here that {name!r} could be run inside of")


@dataclass(frozen=True)
class Context:
    """Given to each tool that has a parameter annotated with it; the model does not see that parameter.

    `idempotency_key` is the same whenever this very call is made, in whichever run: hand it to services that take one.
    `state` is what the program around the loop hands its tools: a client, a cache, who asks. It is not saved with the
    task. `output_chars` is how many characters of a result the model is shown before it is cut.
    """

    task_id: str
    call_id: str
    deadline: Deadline
    workspace: Workspace
    report: Callable[[str], None] = lambda text: None
    state: Mapping[str, Any] = field(default_factory=dict)
    nested_runner: NestedLoopRunner = no_nested_loops
    max_output_chars: int = 30_000

    @property
    def idempotency_key(self) -> str:
        return f"{self.task_id}:{self.call_id}"

    @property
    def files(self) -> tuple[FileInfo, ...]:
        return self.workspace.files

    @property
    def produced(self) -> tuple[FileInfo, ...]:
        return self.workspace.produced

    @property
    def folder(self) -> Path:
        return self.workspace.folder

    def path(self, name: str) -> Path:
        """A file of the task as a local path. Blocks. Raises ToolError for an unknown name."""
        return self.workspace.local_path(name)

    def progress(self, text: str) -> None:
        """Tells the caller how far things are. Returns at once; may be called from any thread."""
        self.report(text)

    async def run_nested(
        self, name: str, message: str, *, instructions: str = "", tools: Iterable[str] = ()
    ) -> NestedResult:
        """Asks the model in an inner loop of this call, with `instructions` as its system prompt and `tools` by name.

        `name` tells it from the other inner loops of this call; several may run at once. What one has answered is
        journaled: when the call is made again in another run, a finished inner loop gives its result at once and an
        unfinished one goes on, given the same message. So this is for tools that are idempotent and asynchronous.
        """
        return await self.nested_runner(f"{self.call_id}/{name}", message, instructions=instructions, tools=tools)
