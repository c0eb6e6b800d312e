"""One Lambda function per agent: tasks that are never lost and outlive the 15-minute limit."""
# ruff: noqa: E402 - the collector rests during the imports: it would find nothing, many times over

import gc

_collecting = gc.isenabled()
gc.disable()

from agentfn.agent import Agent, Skill
from agentfn.bootstrap import serve
from agentfn.deadline import Deadline
from agentfn.errors import AgentfnError, ConfigurationError, ToolError
from agentfn.settings import Settings
from agentfn.tools import Context, File, FileInfo, InputFile, Output, Toolkit, tool

gc.freeze()  # what was imported stays
if _collecting:
    gc.enable()

__all__ = [
    "Agent",
    "AgentfnError",
    "ConfigurationError",
    "Context",
    "Deadline",
    "File",
    "FileInfo",
    "InputFile",
    "Output",
    "Settings",
    "Skill",
    "ToolError",
    "Toolkit",
    "serve",
    "tool",
]
