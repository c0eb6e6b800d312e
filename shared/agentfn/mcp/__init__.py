"""The agent's tools as an MCP server."""

from agentfn.mcp.mcp_server import McpServer

__all__ = ["McpServer"]
