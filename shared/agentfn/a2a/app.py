"""The web application: the sdk's routes, who may take them, and the card."""

from collections.abc import Iterable

from a2a.auth.user import User
from a2a.server.context import ServerCallContext
from a2a.server.routes import create_jsonrpc_routes
from a2a.server.routes.common import DefaultServerCallContextBuilder
from a2a.server.routes.rest_routes import create_rest_routes
from a2a.utils.constants import AGENT_CARD_WELL_KNOWN_PATH
from fastapi import FastAPI, Request
from starlette.responses import JSONResponse
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from agentfn.a2a.card.card_endpoint import CardEndpoint
from agentfn.a2a.card.card_signature import JWKS_PATH
from agentfn.a2a.cors import add_cors
from agentfn.a2a.file_links import base_url_var
from agentfn.a2a.request_handler import AgentRequestHandler
from agentfn.a2a.wire.protocol_middleware import ProtocolMiddleware
from agentfn.a2a.wire.v0_3_routes import create_v0_3_routes
from agentfn.agent import Agent
from agentfn.auth.authenticator import AuthenticationError, Authenticator
from agentfn.errors import AgentfnError
from agentfn.settings import Settings
from agentfn.telemetry import logger

LEGACY_CARD_PATH = "/.well-known/agent.json"  # of protocol 0.2, still asked for
HEALTH_PATHS = ("/health", "/healthz")
MCP_PATH = "/mcp"
MAX_HEADER_CHARS = 16 * 1024  # characters of all headers; API Gateway lets 10,240 bytes through
PUBLIC_PATHS = frozenset({AGENT_CARD_WELL_KNOWN_PATH, LEGACY_CARD_PATH, JWKS_PATH, *HEALTH_PATHS})


class CallContextBuilder(DefaultServerCallContextBuilder):
    """What the request handler is told of a request: who sent it, and how long Lambda gives it."""

    def build(self, request: Request) -> ServerCallContext:
        context = super().build(request)
        context.state["lambda"] = request.scope["aws.context"]
        context.state["path"] = request.url.path
        context.state["address"] = request.scope["aws.event"]["agentfn.address"]
        context.state["no_history"] = request.scope.get("agentfn.no_history", False)
        return context

    def build_user(self, request: Request) -> User:
        caller: User = request.scope["agentfn.auth.identity"]
        return caller


class AuthenticationMiddleware:
    """Lets a request through that is public or whose caller is known; refuses one that is too large.

    `max_body` is in bytes.
    """

    def __init__(self, app: ASGIApp, authenticator: Authenticator, max_body_bytes: int) -> None:
        self._app = app
        self._authenticator = authenticator
        self._max_body_bytes = max_body_bytes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = {name.decode().lower(): value.decode("latin-1") for name, value in scope["headers"]}
        refusal = await self._reject(scope, headers)
        if refusal is not None:
            await refusal(scope, receive, send)
            return
        base_url_var.set(scope["aws.event"]["agentfn.address"])
        await self._app(scope, receive, send)

    async def _reject(self, scope: Scope, headers: dict[str, str]) -> JSONResponse | None:
        if (length := sum(len(name) + len(value) for name, value in headers.items())) > MAX_HEADER_CHARS:
            return JSONResponse(
                {"error": f"The headers have {length:,} characters; {MAX_HEADER_CHARS:,} are allowed"}, 431
            )
        if scope["path"] in PUBLIC_PATHS and scope["method"] in ("GET", "HEAD"):
            return None
        try:
            caller = await self._authenticator.authenticate(headers, scope["aws.event"]["requestContext"])
        except AuthenticationError as refused:
            return JSONResponse({"error": str(refused)}, refused.status, {"WWW-Authenticate": refused.challenge})
        except AgentfnError:
            logger.exception("callers cannot be told apart")
            return JSONResponse({"error": "Callers cannot be checked at the moment; the agent's log says why."}, 503)
        if caller is None:
            scheme = self._authenticator.scheme
            return JSONResponse({"error": scheme.instructions}, 401, {"WWW-Authenticate": scheme.challenge})
        scope["agentfn.auth.identity"] = caller
        size = len((scope["aws.event"].get("body") or "").encode())  # headers may say what they like
        return _body_too_large(scope["path"], size, self._max_body_bytes) if size > self._max_body_bytes else None


def create_app(
    agent: Agent,
    request_handler: AgentRequestHandler,
    authenticator: Authenticator,
    settings: Settings,
    card_endpoint: CardEndpoint,
    mcp_server: ASGIApp | None = None,
    file_routes: Iterable[Route] = (),
) -> ASGIApp:
    """To be called with Lambda's context in `scope["aws.context"]`, and in `scope["aws.event"]` the event with the
    agent's public URL as `agentfn.address`. `tools` is the MCP server, `files` are the doors for files.
    """
    app = FastAPI(title=agent.name, docs_url=None, redoc_url=None, openapi_url=None, redirect_slashes=False)
    contexts = CallContextBuilder()
    app.routes.extend(Route(path, card_endpoint.serve_card) for path in (AGENT_CARD_WELL_KNOWN_PATH, LEGACY_CARD_PATH))
    if card_endpoint.is_signed:
        app.routes.append(Route(JWKS_PATH, card_endpoint.serve_jwks))
    app.routes.extend(Route(path, _health) for path in HEALTH_PATHS)
    if mcp_server is not None:
        app.routes.append(Route(MCP_PATH, mcp_server, methods=["POST"]))
    app.routes.extend(file_routes)
    app.routes.extend(create_jsonrpc_routes(request_handler, "/", contexts, enable_v0_3_compat=True))
    app.routes.extend(create_v0_3_routes(request_handler, contexts))
    app.routes.extend(create_rest_routes(request_handler, contexts, enable_v0_3_compat=True))
    http = settings.http
    protected = AuthenticationMiddleware(ProtocolMiddleware(app, http.streaming), authenticator, http.max_body_bytes)
    return add_cors(protected, http)


async def _health(_: Request) -> JSONResponse:
    return JSONResponse({"status": "ok"})


def _body_too_large(path: str, size: int, limit: int) -> JSONResponse:
    text = f"Payload too large: {size:,} bytes; {limit:,} are allowed"
    if path not in ("/", MCP_PATH):
        return JSONResponse({"error": {"code": 413, "status": "INVALID_ARGUMENT", "message": text}}, 413)
    error = {"jsonrpc": "2.0", "id": None, "error": {"code": -32600, "message": text}}
    return JSONResponse(error, 413 if path == MCP_PATH else 200)
