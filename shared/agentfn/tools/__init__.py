"""A function as a tool: its schema, its arguments, its call, its output."""

from agentfn.tools.context import Context, FileInfo, FileRecord, Inner, Outcome, Paused, Workspace
from agentfn.tools.output import File, Link, Output
from agentfn.tools.registry import Registry
from agentfn.tools.schema import InputFile
from agentfn.tools.tool import Tool, tool

__all__ = [
    "Context",
    "File",
    "FileInfo",
    "FileRecord",
    "Inner",
    "InputFile",
    "Link",
    "Outcome",
    "Output",
    "Paused",
    "Registry",
    "Tool",
    "Workspace",
    "tool",
]
