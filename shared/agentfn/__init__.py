"""One Lambda function per agent: tasks that are never lost and outlive the 15-minute limit."""

from agentfn.agent import Agent, Skill
from agentfn.deadline import Deadline
from agentfn.errors import AgentfnError, ConfigurationError, ToolError
from agentfn.handler import serve
from agentfn.settings import Settings
from agentfn.tools import Context, File, FileInfo, InputFile, Output, Toolkit, tool

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
