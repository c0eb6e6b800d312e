"""A function as a tool: its schema, its arguments, its call, its output."""

from agentfn.tools.context import Context, FileInfo, FileRecord, Inner, Origin, Outcome, Paused, Workspace
from agentfn.tools.folder import FolderWorkspace
from agentfn.tools.more import read_more
from agentfn.tools.output import File, Link, Output
from agentfn.tools.registry import Registry
from agentfn.tools.schema import InputFile
from agentfn.tools.tool import Tool, tool
from agentfn.tools.toolkit import Toolkit

__all__ = [
    "Context",
    "File",
    "FileInfo",
    "FileRecord",
    "FolderWorkspace",
    "Inner",
    "InputFile",
    "Link",
    "Origin",
    "Outcome",
    "Output",
    "Paused",
    "Registry",
    "Tool",
    "Toolkit",
    "Workspace",
    "read_more",
    "tool",
]
