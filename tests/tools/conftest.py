"""A tool's surroundings, without a task."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from agentfn import Context, Deadline, Output
from agentfn.tools import FolderWorkspace, Tool
from agentfn.tools.execution import ConcurrencyLimiter, ToolLimits, call_tool
from agentfn.tools.tool_arguments import ToolCallError

type Outcome = Output | ToolCallError
type Caller = Callable[..., Outcome]


@pytest.fixture
def workspace(tmp_path: Path) -> FolderWorkspace:
    return FolderWorkspace(tmp_path / "files")


@pytest.fixture
def context(workspace: FolderWorkspace) -> Context:
    return Context("task", "call_1", Deadline.after(60), workspace)


@pytest.fixture
def call(context: Context) -> Caller:
    """Calls a tool with the text of its arguments."""

    def make(tool: Tool, text: str = "{}", **limits: Any) -> Outcome:
        async def run() -> Outcome:
            return await call_tool(tool, text, context, ToolLimits(**limits), ConcurrencyLimiter(4))

        return asyncio.run(run())

    return make
