"""Runs tools and loops without AWS on files in a folder."""

import asyncio
import mimetypes
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from agentfn import Context, Deadline, File, Output, ToolError
from agentfn.loop import AgentLoop, LoopEnvironment, LoopResult
from agentfn.models import Model, Turn
from agentfn.tools import FileRecord, Tool, ToolRegistry
from agentfn.tools.tool_output import FileLink
from agentfn.tools.workspaces.workspace import Origin

AGENT = Path(__file__).resolve().parents[3] / "functions" / "analyst"


@dataclass
class ToolHarness:
    """A workspace: `folder` has the attached and produced files, `progress` the reported progress."""

    folder: Path
    attached: list[str] = field(default_factory=list)
    produced_names: list[str] = field(default_factory=list)
    progress: list[str] = field(default_factory=list)

    @property
    def files(self) -> tuple[FileRecord, ...]:
        return tuple(self._info(name) for name in dict.fromkeys([*self.attached, *self.produced_names]))

    @property
    def produced(self) -> tuple[FileRecord, ...]:
        return tuple(self._info(name) for name in dict.fromkeys(self.produced_names))

    def local_path(self, name: str) -> Path:
        if name not in {info.name for info in self.files}:
            raise ToolError(f"no such file: {name}")
        return self.folder / name

    def save_file(self, file: File, *, hidden: bool = False) -> FileRecord:
        (self.folder / file.name).write_bytes(file.read())
        self.produced_names.append(file.name)
        return self._info(file.name)

    def add_link(self, link: FileLink) -> FileRecord:
        raise AssertionError("the analyst's tools make files, not links")

    def attach(self, name: str, content: bytes | str) -> Path:
        """Attaches a file."""
        path = self.folder / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        self.attached.append(name)
        return path

    def read(self, name: str) -> str:
        return self.local_path(name).read_text(encoding="utf-8-sig")

    @property
    def context(self) -> Context:
        return Context("task-1", "call-1", Deadline.after(60), self, self.progress.append)

    def call(self, tool: Tool, **arguments: Any) -> str:
        """Calls the tool like the loop, saves its files and returns the result as the model reads it."""
        named = {
            name: self.local_path(value) if name in tool.file_parameters else value for name, value in arguments.items()
        }
        output = tool(**named, **({tool.context_parameter: self.context} if tool.context_parameter else {}))
        if not isinstance(output, Output):
            return str(output)
        for file in output.files:
            self.save_file(file)
        return output.render()

    def run_loop(self, model: Model, tools: list[Tool], *turns: Turn | str) -> LoopResult:
        """Runs the loop over a transcript to its end."""
        loop = AgentLoop(model, ToolRegistry(tools), environment=LoopEnvironment("task-1", self, Deadline.after(60)))
        said = [turn if isinstance(turn, Turn) else Turn("user", turn) for turn in turns]
        return asyncio.run(loop.run(said))

    def _info(self, name: str) -> FileRecord:
        kind = mimetypes.guess_type(name)[0] or "application/octet-stream"
        origin: Origin = "attached" if name in self.attached else "produced"
        return FileRecord(name, kind, (self.folder / name).stat().st_size, origin)
