"""Runs tools and loops without AWS, with scripted nested loops."""

import asyncio
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from agentfn import Context, Deadline, File, Output
from agentfn.loop import AgentLoop, LoopEnvironment, LoopResult
from agentfn.models import Model, Turn
from agentfn.tools import FolderWorkspace, Tool, ToolRegistry

AGENT = Path(__file__).resolve().parents[3] / "functions" / "librarian"


@dataclass(frozen=True)
class NestedResult:
    """The result of a nested loop."""

    text: str
    status: str = "completed"


def no_nested_loop(name: str, message: str) -> NestedResult:
    raise AssertionError(f"no inner loop was expected, but {name} began")


@dataclass
class ToolHarness:
    """`progress` is the reported progress, `nested_calls` the nested loops that started: name, message, instructions.

    `nested_answer` answers them; it may raise an exception.
    """

    workspace: FolderWorkspace = field(default_factory=FolderWorkspace)
    progress: list[str] = field(default_factory=list)
    nested_calls: list[tuple[str, str, str]] = field(default_factory=list)
    nested_answer: Callable[[str, str], NestedResult] = no_nested_loop
    max_parallel: int = 0
    _running: int = 0

    def attach(self, name: str, content: bytes | str) -> None:
        """Attaches a file."""
        self.workspace.attach(File(name, content if isinstance(content, bytes) else content.encode()))

    def read(self, name: str) -> str:
        return self.workspace.local_path(name).read_text()

    @property
    def context(self) -> Context:
        return Context(
            "task-1", "call-1", Deadline.after(60), self.workspace, self.progress.append, nested_runner=self._inner
        )

    def call(self, tool: Tool, **arguments: Any) -> str:
        """Calls the tool like the loop, saves its files and returns the result as the model reads it."""
        return self.output(tool, **arguments).render()

    def output(self, tool: Tool, **arguments: Any) -> Output:
        output = tool(context=self.context, **arguments)
        if asyncio.iscoroutine(output):
            output = asyncio.run(output)
        assert isinstance(output, Output)
        for file in output.files:
            self.workspace.save_file(file)
        return output

    def run_loop(self, model: Model, tools: list[Tool], *turns: Turn | str) -> LoopResult:
        """Runs the loop over a transcript to its end."""
        said = [turn if isinstance(turn, Turn) else Turn("user", turn) for turn in turns]
        environment = LoopEnvironment(workspace=self.workspace, nested_runner=self._inner)
        return AgentLoop(model, ToolRegistry(tools), environment=environment).run_sync(said)

    async def _inner(
        self, name: str, message: str, *, instructions: str = "", tools: Iterable[str] = ()
    ) -> NestedResult:
        self.nested_calls.append((name.rpartition("/")[2], message, instructions))
        self._running += 1
        self.max_parallel = max(self.max_parallel, self._running)
        try:
            await asyncio.sleep(0)
            return self.nested_answer(name.rpartition("/")[2], message)
        finally:
            self._running -= 1
