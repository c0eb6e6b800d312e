"""The MCP server of an agent's tools."""

from typing import TYPE_CHECKING

from agentfn.agent import Agent
from agentfn.files import Bucket
from agentfn.runs.engine import Engine
from agentfn.runs.loop_engine import LoopEngine
from agentfn.settings import Settings
from agentfn.telemetry import logger

if TYPE_CHECKING:
    from agentfn.mcp import McpServer


def create_mcp_server(agent: Agent, settings: Settings, bucket: Bucket, engine: Engine) -> "McpServer | None":
    """The MCP server, if it is enabled. Raises ConfigurationError if its packages are missing."""
    if not settings.http.mcp:
        return None
    if not isinstance(engine, LoopEngine):
        logger.warning("AGENTFN_MCP is ignored: agent %s has an executor, which does not use tools", agent.name)
        return None
    from agentfn.mcp import McpServer

    return McpServer(agent, settings, bucket, engine.limits.tools, engine.limiter)
