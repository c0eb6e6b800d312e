"""The agent's tools as an MCP server."""

from agentfn.mcp.mcp_server import ToolServer

__all__ = ["ToolServer"]
