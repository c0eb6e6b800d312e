"""A tool's surroundings, without a task."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from agentfn import Context, Deadline, File, FileInfo, Output, ToolError
from agentfn.tools import Link, Tool
from agentfn.tools.arguments import Mistake
from agentfn.tools.calling import Slots, ToolLimits, call_tool

type Outcome = Output | Mistake
type Caller = Callable[..., Outcome]


class Shelf:
    """A workspace of files that lie in a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @property
    def files(self) -> tuple[FileInfo, ...]:
        return tuple(FileInfo(path.name, "text/plain", path.stat().st_size) for path in sorted(self.folder.iterdir()))

    @property
    def produced(self) -> tuple[FileInfo, ...]:
        return ()

    def local(self, name: str) -> Path:
        if not (self.folder / name).is_file():
            raise ToolError(f"there is no file {name!r}")
        return self.folder / name

    def keep(self, file: File, *, hidden: bool = False) -> FileInfo:
        raise AssertionError("calling a tool keeps nothing yet")

    def link(self, link: Link) -> FileInfo:
        raise AssertionError("calling a tool keeps nothing yet")


@pytest.fixture
def shelf(tmp_path: Path) -> Shelf:
    return Shelf(tmp_path)


@pytest.fixture
def context(shelf: Shelf) -> Context:
    return Context("task", "call_1", Deadline.after(60), shelf)


@pytest.fixture
def call(context: Context) -> Caller:
    """Calls a tool with the text of its arguments."""

    def make(tool: Tool, text: str = "{}", **limits: Any) -> Outcome:
        async def run() -> Outcome:
            return await call_tool(tool, text, context, ToolLimits(**limits), Slots(4))

        return asyncio.run(run())

    return make
