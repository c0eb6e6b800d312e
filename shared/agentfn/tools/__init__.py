"""Tools: functions that a model may call, with their schema, arguments, execution and output."""

import importlib
from typing import TYPE_CHECKING, Any

from agentfn.tools.schemas.function_schema import InputFile
from agentfn.tools.tool import Tool, tool
from agentfn.tools.tool_context import Context, NestedLoopRunner, NestedResult, TaskSuspended
from agentfn.tools.tool_output import File, FileLink, Output
from agentfn.tools.tool_registry import ToolRegistry
from agentfn.tools.toolkit import Toolkit
from agentfn.tools.workspaces.folder_workspace import FolderWorkspace
from agentfn.tools.workspaces.workspace import FileInfo, FileRecord, Origin, Workspace

if TYPE_CHECKING:
    from agentfn.tools.read_more_tool import read_more

__all__ = [
    "Context",
    "File",
    "FileInfo",
    "FileLink",
    "FileRecord",
    "FolderWorkspace",
    "InputFile",
    "NestedLoopRunner",
    "NestedResult",
    "Origin",
    "Output",
    "TaskSuspended",
    "Tool",
    "ToolRegistry",
    "Toolkit",
    "Workspace",
    "read_more",
    "tool",
]


def __getattr__(name: str) -> Any:
    """Imports `read_more` on first use: only processes that run loops need it."""
    if name != "read_more":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return importlib.import_module("agentfn.tools.read_more_tool").read_more
