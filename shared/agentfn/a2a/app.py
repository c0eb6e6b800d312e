"""The agent's web application: the sdk's routes for the protocol, the agent card, files and MCP."""

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
from starlette.types import ASGIApp

from agentfn.a2a.authentication_middleware import (
    HEALTH_PATHS,
    LEGACY_CARD_PATH,
    MCP_PATH,
    AuthenticationMiddleware,
    GetBaseUrl,
)
from agentfn.a2a.card.card_endpoint import CardEndpoint
from agentfn.a2a.card.card_signature import JWKS_PATH
from agentfn.a2a.cors import add_cors
from agentfn.a2a.request_handler import AgentRequestHandler
from agentfn.a2a.wire.protocol_middleware import ProtocolMiddleware
from agentfn.a2a.wire.v0_3_routes import create_v0_3_routes
from agentfn.agent import Agent
from agentfn.auth.authenticator import Authenticator
from agentfn.call_context import STATE_KEY, CallContext
from agentfn.settings import Settings


class CallContextBuilder(DefaultServerCallContextBuilder):
    """Hands the request's CallContext to the request handler, in the sdk's own context."""

    def build(self, request: Request) -> ServerCallContext:
        context = super().build(request)
        context.state[STATE_KEY] = CallContext.from_scope(request.scope)
        return context

    def build_user(self, request: Request) -> User:
        return CallContext.from_scope(request.scope).caller


def create_app(
    agent: Agent,
    request_handler: AgentRequestHandler,
    authenticator: Authenticator,
    settings: Settings,
    card_endpoint: CardEndpoint,
    get_base_url: GetBaseUrl,
    mcp_server: ASGIApp | None = None,
    file_routes: Iterable[Route] = (),
) -> ASGIApp:
    """Creates the ASGI application.

    It must be called with Lambda's context in `scope["aws.context"]` and API Gateway's event in `scope["aws.event"]`.
    `get_base_url` returns the agent's URL, as the caller knows it, for such an event.
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
    protocol = ProtocolMiddleware(app, settings.http.streaming)
    return add_cors(AuthenticationMiddleware(protocol, authenticator, settings, get_base_url), settings.http)


async def _health(_: Request) -> JSONResponse:
    return JSONResponse({"status": "ok"})
