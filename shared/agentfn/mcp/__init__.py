"""The agent's tools as an MCP server."""

from agentfn.mcp.server import ToolServer

__all__ = ["ToolServer"]
