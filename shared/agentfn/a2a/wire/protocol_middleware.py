"""ASGI middleware around the sdk's routes: strict JSON, exact numbers, and complete responses for protocol 0.3."""

import dataclasses
import json
import re
from dataclasses import dataclass
from typing import Any

from a2a.server.jsonrpc_models import JSONParseError
from a2a.server.request_handlers.response_helpers import build_error_response
from a2a.utils.constants import VERSION_HEADER
from a2a.utils.error_handlers import build_rest_error_payload
from a2a.utils.errors import A2AError, UnsupportedOperationError, VersionNotSupportedError
from google.protobuf.json_format import ParseError
from packaging.version import InvalidVersion, Version
from starlette.datastructures import Headers, QueryParams
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from agentfn.a2a.task_streams import STREAMING_UNSUPPORTED
from agentfn.a2a.wire import file_parts, v0_3
from agentfn.a2a.wire.strict_json import JsonBodyError, parse_body, serialize_body
from agentfn.call_context import SCOPE_KEY, VERSION_0_3, CallContext
from agentfn.json_numbers import decode_numbers

PROTOCOL_PATH_PATTERN = re.compile(r"/|(/[^/]+)?/(message:(send|stream)|tasks(/.*)?)")
JSON_BODY_SUFFIXES = (":send", ":stream", "/pushNotificationConfigs")  # paths that end so take JSON
SUPPORTED_VERSIONS = {0: "0.3", 1: "1.0"}  # by major version
SSE_DATA_PATTERN = re.compile(rb"^data: (.*)$", re.MULTILINE)


@dataclass(frozen=True)
class ProtocolMiddleware:
    """Validates requests that the sdk would misread, and rewrites responses. Other paths pass unchanged.

    `streaming` says whether the agent streams.
    """

    app: ASGIApp
    streaming: bool = True

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        path = scope["path"] if scope["type"] == "http" else ""
        if not PROTOCOL_PATH_PATTERN.fullmatch(path):
            await self.app(scope, receive, send)
            return
        request, query = None, QueryParams(scope["query_string"])
        try:
            if scope["method"] == "POST" and (path == "/" or path.endswith(JSON_BODY_SUFFIXES)):
                request, body = parse_body(await _read_body(receive))
                file_parts.validate_file_parts(request)
                receive = _replay_body(body, receive)
            version = _read_version(Headers(scope=scope), query)
            v0_3.validate_request(path, request, query, version)
            if not self.streaming and v0_3.rpc_method(request) in v0_3.STREAMING_METHODS:
                raise UnsupportedOperationError(STREAMING_UNSUPPORTED)  # the sdk would answer with a stream
        except (A2AError, JsonBodyError) as error:
            await _error_response(path, request, error)(scope, receive, send)
            return
        version_header = (b"a2a-version", version.encode())
        headers = [header for header in scope["headers"] if header[0].lower() != version_header[0]]
        call = CallContext.from_scope(scope)
        if path == "/" and "/" in v0_3.rpc_method(request):
            call = dataclasses.replace(call, protocol_version=VERSION_0_3)
        call = dataclasses.replace(call, omit_history=v0_3.requests_no_history(path, request, query))
        scope = {**scope, "headers": [*headers, version_header] if version else headers, SCOPE_KEY: call}
        await self.app(scope, receive, ResponseRewriter(send, request).send)


class ResponseRewriter:
    """Restores the numbers in a response. Buffers JSON; rewrites each server-sent event as it comes.

    Lines of server-sent events end with LF. The sdk writes CRLF, which clients that split by hand do not expect.
    """

    def __init__(self, send: Send, request: Any) -> None:
        self._send = send
        self._request = request
        self._media_type = ""
        self._start: Message = {}
        self._body = b""

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self._start = message
            self._media_type = Headers(raw=message["headers"]).get("content-type", "").partition(";")[0]
        elif self._media_type == "text/event-stream":
            events = message.get("body", b"").replace(b"\r\n", b"\n")
            message = {**message, "body": SSE_DATA_PATTERN.sub(self._rewrite_event, events)}
        if not self._media_type.endswith("json"):
            await self._send(message)
        elif message["type"] == "http.response.body":
            self._body += message.get("body", b"")
            if not message.get("more_body"):
                await self._send_json()

    async def _send_json(self) -> None:
        body = self._rewrite_json(self._body) if self._body else b""
        headers = [header for header in self._start["headers"] if header[0].lower() != b"content-length"]
        length = (b"content-length", str(len(body)).encode())
        await self._send({**self._start, "headers": [*headers, length]})
        await self._send({"type": "http.response.body", "body": body})

    def _rewrite_event(self, line: re.Match[bytes]) -> bytes:
        return b"data: " + self._rewrite_json(line[1])

    def _rewrite_json(self, content: bytes) -> bytes:
        return serialize_body(v0_3.complete_response(self._request, decode_numbers(json.loads(content))))


def _read_version(headers: Headers, query: QueryParams) -> str:
    """Returns the A2A-Version of the header or the query, or an empty string. Raises VersionNotSupportedError."""
    version = (headers.get(VERSION_HEADER) or query.get(VERSION_HEADER) or "").strip()
    try:
        supported = not version or Version(version).major in SUPPORTED_VERSIONS
    except InvalidVersion:
        supported = False
    if not supported:
        raise VersionNotSupportedError(
            f"A2A-Version {version[:40]!r} is not spoken here; {' and '.join(SUPPORTED_VERSIONS.values())} are"
        )
    return version


async def _read_body(receive: Receive) -> bytes:
    body = b""
    while (message := await receive())["type"] == "http.request":
        body += message.get("body", b"")
        if not message.get("more_body"):
            break
    return body


def _replay_body(body: bytes, receive: Receive) -> Receive:
    pending = [body]

    async def replay() -> Message:
        return {"type": "http.request", "body": pending.pop()} if pending else await receive()

    return replay


def _error_response(path: str, request: Any, error: A2AError | JsonBodyError) -> JSONResponse:
    if path == "/":
        given_id = request.get("id") if isinstance(request, dict) else None
        request_id = given_id if isinstance(given_id, str | int) and not isinstance(given_id, bool) else None
        rpc_error = JSONParseError(message=f"Parse error: {error}") if isinstance(error, JsonBodyError) else error
        return JSONResponse(build_error_response(request_id, rpc_error))
    payload = build_rest_error_payload(ParseError(str(error)) if isinstance(error, JsonBodyError) else error)
    return JSONResponse(payload, payload["error"]["code"])
