"""ASGI middleware that authenticates the caller, limits the size of a request, and creates its CallContext."""

from collections.abc import Callable
from typing import Any

from a2a.utils.constants import AGENT_CARD_WELL_KNOWN_PATH
from starlette.datastructures import Headers
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from agentfn.a2a.card.card_signature import JWKS_PATH
from agentfn.a2a.wire.v0_3 import PATH_PREFIX
from agentfn.auth.authenticator import AuthenticationError, Authenticator
from agentfn.auth.identity import ANONYMOUS_ID, Principal
from agentfn.call_context import SCOPE_KEY, VERSION_0_3, CallContext
from agentfn.deadline import Deadline
from agentfn.errors import AgentfnError
from agentfn.settings import Settings
from agentfn.telemetry import logger

LEGACY_CARD_PATH = "/.well-known/agent.json"  # of protocol 0.2, which clients still ask for
HEALTH_PATHS = ("/health", "/healthz")
MCP_PATH = "/mcp"
MAX_HEADER_CHARS = 16 * 1024  # of all headers together; API Gateway allows 10,240 bytes
PUBLIC_PATHS = frozenset({AGENT_CARD_WELL_KNOWN_PATH, LEGACY_CARD_PATH, JWKS_PATH, *HEALTH_PATHS})

GetBaseUrl = Callable[[dict[str, Any]], str]  # of an API Gateway event


class AuthenticationMiddleware:
    """Passes requests on that are for a public path or whose caller is known; rejects all others.

    Expects API Gateway's event in `scope["aws.event"]` and Lambda's context in `scope["aws.context"]`.
    """

    def __init__(
        self, app: ASGIApp, authenticator: Authenticator, settings: Settings, get_base_url: GetBaseUrl
    ) -> None:
        self._app = app
        self._authenticator = authenticator
        self._settings = settings
        self._get_base_url = get_base_url

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = {name.decode().lower(): value.decode("latin-1") for name, value in scope["headers"]}
        if (length := sum(len(name) + len(value) for name, value in headers.items())) > MAX_HEADER_CHARS:
            text = f"The headers have {length:,} characters; {MAX_HEADER_CHARS:,} are allowed"
            await JSONResponse({"error": text}, 431)(scope, receive, send)
            return
        if scope["path"] in PUBLIC_PATHS and scope["method"] in ("GET", "HEAD"):
            caller: Principal | JSONResponse = Principal(ANONYMOUS_ID)
        else:
            caller = await self._authenticate(scope, headers)
        if isinstance(caller, JSONResponse):
            await caller(scope, receive, send)
            return
        scope[SCOPE_KEY] = self._call_context(scope, caller)
        await self._app(scope, receive, send)

    async def _authenticate(self, scope: Scope, headers: dict[str, str]) -> Principal | JSONResponse:
        """Returns the caller, or the response that rejects the request."""
        try:
            caller = await self._authenticator.authenticate(headers, scope["aws.event"]["requestContext"])
        except AuthenticationError as error:
            return JSONResponse({"error": str(error)}, error.status, {"WWW-Authenticate": error.challenge})
        except AgentfnError:
            logger.exception("could not authenticate the caller")
            return JSONResponse({"error": "Callers cannot be checked at the moment; the agent's log says why."}, 503)
        if caller is None:
            scheme = self._authenticator.scheme
            return JSONResponse({"error": scheme.instructions}, 401, {"WWW-Authenticate": scheme.challenge})
        size = len((scope["aws.event"].get("body") or "").encode())  # Content-Length may be wrong
        limit = self._settings.http.max_body_bytes
        return _body_too_large(scope["path"], size, limit) if size > limit else caller

    def _call_context(self, scope: Scope, caller: Principal) -> CallContext:
        context, settings = scope["aws.context"], self._settings
        reserve = settings.run.reserve_seconds
        return CallContext(
            caller=caller,
            deadline=Deadline.from_lambda_context(context, reserve_seconds=reserve),
            response_deadline=Deadline.from_lambda_context(
                context, reserve_seconds=reserve, max_seconds=settings.http.request_seconds
            ),
            base_url=self._get_base_url(scope["aws.event"]),
            request_id=getattr(context, "aws_request_id", "unknown"),
            protocol_version=VERSION_0_3 if scope["path"].startswith(PATH_PREFIX) else "",
            idempotency_key=Headers(scope=scope).get("idempotency-key", "").strip(),
        )


def _body_too_large(path: str, size: int, limit: int) -> JSONResponse:
    text = f"Payload too large: {size:,} bytes; {limit:,} are allowed"
    if path not in ("/", MCP_PATH):
        return JSONResponse({"error": {"code": 413, "status": "INVALID_ARGUMENT", "message": text}}, 413)
    error = {"jsonrpc": "2.0", "id": None, "error": {"code": -32600, "message": text}}
    return JSONResponse(error, 413 if path == MCP_PATH else 200)
