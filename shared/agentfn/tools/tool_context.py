"""The context that a tool gets beside its arguments."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from agentfn.deadline import Deadline
from agentfn.tools.workspaces.workspace import FileInfo, Workspace


class NestedResult(Protocol):
    """The result of a nested loop. `text` is the answer if `status` is "completed", the reason if it is "failed"."""

    @property
    def text(self) -> str: ...

    @property
    def status(self) -> str: ...


class NestedLoopRunner(Protocol):
    """Runs a nested loop under a name. Raises TaskSuspended if the loop has to continue in another run."""

    async def __call__(
        self, name: str, message: str, *, instructions: str = "", tools: Iterable[str] = ()
    ) -> NestedResult: ...


class TaskSuspended(BaseException):
    """The task continues in another run, or waits for its user. Not an error: do not catch it."""


def find_suspension(error: BaseException | None) -> TaskSuspended | None:
    """The TaskSuspended that `error` is or contains: a TaskGroup wraps what its tasks raise."""
    if isinstance(error, BaseExceptionGroup):
        return next((found for part in error.exceptions if (found := find_suspension(part))), None)
    return error if isinstance(error, TaskSuspended) else None


async def no_nested_loops(
    name: str, message: str, *, instructions: str = "", tools: Iterable[str] = ()
) -> NestedResult:
    """A NestedLoopRunner for contexts without a loop."""
    raise RuntimeError(f"there is no loop here that {name!r} could be run inside of")


@dataclass(frozen=True)
class Context:
    """Passed to a tool's parameter that is annotated with it. The model does not see that parameter.

    `idempotency_key` is the same each time this call is made, in any run: pass it to services that accept one. `state`
    holds what the program passes to its tools, such as a client or a cache; it is not saved. The model sees at most
    `max_output_chars` characters of a result. `report` receives progress messages, `nested_runner` runs nested loops.
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
        """All files of the task, hidden ones included."""
        return self.workspace.files

    @property
    def produced(self) -> tuple[FileInfo, ...]:
        """The files that may be returned to the caller."""
        return self.workspace.produced

    @property
    def folder(self) -> Path:
        """The local folder of the run, which is deleted after the run."""
        return self.workspace.folder

    def path(self, name: str) -> Path:
        """A local path of a file of the task. Blocks. Raises ToolError for an unknown name."""
        return self.workspace.local_path(name)

    def progress(self, text: str) -> None:
        """Sends a progress message to the caller. Returns at once; may be called from any thread."""
        self.report(text)

    async def run_nested(
        self, name: str, message: str, *, instructions: str = "", tools: Iterable[str] = ()
    ) -> NestedResult:
        """Runs a nested loop of this call, with `instructions` as its system prompt and the tools of these names.

        `name` identifies the loop among the nested loops of this call; several may run at once. Each loop is journaled.
        When the call is made again in another run, a finished loop returns its result at once, and an unfinished one
        continues if it is given the same message. So the tool must be idempotent and asynchronous.

        Raises TaskSuspended if the loop has to continue in another run.
        """
        return await self.nested_runner(f"{self.call_id}/{name}", message, instructions=instructions, tools=tools)
