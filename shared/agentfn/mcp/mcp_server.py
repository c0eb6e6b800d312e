"""The MCP server: streamable HTTP without sessions, one JSON response to each request.

The official package `mcp` implements the protocol. It is imported at the first request. Nothing of it runs between
requests, because Lambda freezes the process then.
"""

import contextlib
import functools
import importlib.util
import json
from collections.abc import AsyncGenerator
from typing import TYPE_CHECKING, Any

from pydantic_core import from_json
from starlette.datastructures import Headers
from starlette.responses import JSONResponse
from starlette.types import Receive, Scope, Send

from agentfn.agent import Agent
from agentfn.call_context import CallContext
from agentfn.errors import ConfigurationError
from agentfn.files import Bucket
from agentfn.mcp.mcp_tool_calls import NO_SOURCE, McpToolCaller, McpToolOutput
from agentfn.settings import Settings
from agentfn.telemetry import logger
from agentfn.tools import Tool
from agentfn.tools.execution import ConcurrencyLimiter, ToolLimits
from agentfn.tools.tool_arguments import ToolCallError

if TYPE_CHECKING:
    from mcp.server.context import ServerRequestContext
    from mcp.server.lowlevel import Server
    from mcp.types import CallToolRequestParams, CallToolResult, ListToolsResult, PaginatedRequestParams
    from mcp.types import Tool as McpTool

REQUIRED_PACKAGES = ("mcp", "httpx2", "cryptography")  # mcp imports its client too
PACKAGES_MISSING = (
    "AGENTFN_MCP is on, but these packages are missing: {missing}. They belong to agentfn's extra `mcp`: add them to "
    "the agent's requirements.txt, or run `pip install 'agentfn[mcp]'`"
)
ORIGIN_REFUSED = "Pages of {origin} may not call this agent's tools; AGENTFN_CORS_ORIGINS names those that may"
NOT_JSON = "Content-Type must be application/json"
NEEDS_APPROVAL = "{name} needs its user's approval, which cannot be asked for here: send the agent a message instead"


class McpServer:
    """An ASGI app for authenticated requests, with the agent's tools except those that require approval.

    Raises ConfigurationError if packages are missing.
    """

    def __init__(
        self, agent: Agent, settings: Settings, bucket: Bucket, limits: ToolLimits, limiter: ConcurrencyLimiter
    ) -> None:
        if missing := [name for name in REQUIRED_PACKAGES if importlib.util.find_spec(name) is None]:
            raise ConfigurationError(PACKAGES_MISSING.format(missing=", ".join(missing)))
        registry = agent.registry
        self._agent, self._settings = agent, settings
        self._tools = registry.select(tool.name for tool in registry if not tool.requires_approval)
        self._caller = McpToolCaller(agent.name, settings, bucket, limits, limiter)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        origin = Headers(scope=scope).get("origin", "")
        if origin and not {origin, "*"} & set(self._settings.http.origins):
            error = {"code": -32600, "message": ORIGIN_REFUSED.format(origin=origin)}
            await JSONResponse({"jsonrpc": "2.0", "id": None, "error": error}, 403)(scope, receive, send)
            return
        if not Headers(scope=scope).get("content-type", "").lower().startswith("application/json"):
            error = {"code": -32600, "message": NOT_JSON}
            await JSONResponse({"jsonrpc": "2.0", "id": None, "error": error}, 400)(scope, receive, send)
            return
        from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

        manager = StreamableHTTPSessionManager(
            self._server, json_response=True, stateless=True, max_request_body_size=self._settings.http.max_body_bytes
        )
        async with manager.run():
            await manager.handle_request(scope, receive, send)

    @functools.cached_property
    def _server(self) -> "Server":
        from mcp.server.lowlevel import Server

        return Server(
            self._agent.name,
            version=self._agent.version,
            description=self._agent.description,
            instructions=self._tools.instructions or None,
            on_list_tools=self._list_tools,
            on_call_tool=self._call_tool,
        )

    async def _list_tools(self, context: Any, params: "PaginatedRequestParams | None") -> "ListToolsResult":
        from mcp.types import ListToolsResult

        return ListToolsResult(tools=[_to_mcp_tool(tool) for tool in self._tools])

    async def _call_tool(
        self, context: "ServerRequestContext[Any]", params: "CallToolRequestParams"
    ) -> "CallToolResult":
        assert context.request is not None  # it came by HTTP
        scope: Scope = context.request.scope
        call = CallContext.from_scope(scope)
        tool = self._find_tool(params.name)
        async with hide_internal_error(call.request_id):
            outcome = await self._caller.call(tool, params.arguments or {}, call.caller.id, call.response_deadline)
        logger.info(
            "tool called by MCP", tool=tool.name, owner=call.caller.id, error=getattr(outcome, "error_type", "")
        )
        return _to_mcp_result(outcome)

    def _find_tool(self, name: str) -> Tool:
        from mcp.types import INVALID_PARAMS

        from mcp import MCPError

        tool = self._tools.get(name)
        if tool is not None:
            return tool
        known = ", ".join(self._tools.names) or "none"
        text = f"Unknown tool: {name}; there are: {known}"
        raise MCPError(INVALID_PARAMS, NEEDS_APPROVAL.format(name=name) if name in self._agent.registry else text)


@contextlib.asynccontextmanager
async def hide_internal_error(request_id: str) -> AsyncGenerator[None]:
    """Logs an exception, and raises an MCP error that has only the request's id."""
    try:
        yield
    except Exception as error:
        from mcp.types import INTERNAL_ERROR

        from mcp import MCPError

        logger.error("request failed", exc_info=error, request=request_id)
        raise MCPError(INTERNAL_ERROR, f"Internal error (request {request_id})") from error


def _to_mcp_tool(tool: Tool) -> "McpTool":
    from mcp.types import Tool as McpTool
    from mcp.types import ToolAnnotations

    files = ", ".join(sorted(tool.file_parameters))
    file_note = f"\n\n{files}: {NO_SOURCE}" if files else ""
    return McpTool(
        name=tool.name,
        description=tool.description + file_note,
        input_schema=tool.schema,
        annotations=ToolAnnotations(idempotent_hint=tool.idempotent),
    )


def _to_mcp_result(outcome: McpToolOutput | ToolCallError) -> "CallToolResult":
    from mcp.types import CallToolResult, ResourceLink, TextContent

    if isinstance(outcome, ToolCallError):
        text = outcome.render()
        return CallToolResult(content=[TextContent(text=text)], structured_content=json.loads(text), is_error=True)
    links = [
        ResourceLink(name=file.name, uri=url, mime_type=file.media_type, size=None if file.url else file.size)
        for file, url in outcome.files
    ]
    content = [TextContent(text=outcome.text)] if outcome.text else []
    structured = _structured_content(outcome.text) if outcome.complete else None
    return CallToolResult(content=[*content, *links], structured_content=structured)


def _structured_content(text: str) -> dict[str, Any] | None:
    """The JSON object that is the text, or its last line: an output's data comes after its text."""
    for part in (text, text.rpartition("\n")[2]):
        if part.lstrip().startswith("{"):
            try:
                value = from_json(part)  # refuses lone surrogates, and JSON that is too deep to be written again
                json.dumps(value, allow_nan=False)
            except ValueError:
                continue
            return value if isinstance(value, dict) else None
    return None
