"""A local HTTP server in the place of API Gateway: it calls the handler with a REST API's events."""

import asyncio
import base64
import socket
import threading
import time
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from agentfn.errors import ConfigurationError
from agentfn.local.execution_environments import ExecutionEnvironments
from agentfn.local.lambda_events import LocalLambdaContext, rest_event
from agentfn.telemetry import logger

if TYPE_CHECKING:
    from collections.abc import Callable

    from starlette.types import Message, Receive, Scope, Send

HOST = "127.0.0.1"
MAX_BODY_BYTES = 10 * 1024 * 1024  # API Gateway's limit
SHUTDOWN_TIMEOUT_SECONDS = 3  # for running requests when the server stops
STARTED_CHECK_SECONDS = 0.01

ProxyResponse = dict[str, Any]


class HttpServer:
    """Binds its port when it is created, so that the URL is known before the agent starts; `serve` accepts connections.

    Port 0 is any free port. Raises ConfigurationError for a port in use.
    """

    def __init__(self, port: int = 0) -> None:
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            self._socket.bind((HOST, port))
        except OSError as error:
            self._socket.close()
            raise ConfigurationError(f"port {port} cannot be used: {error.strerror}; choose another") from None
        self.url = f"http://{HOST}:{self._socket.getsockname()[1]}"

    def close(self) -> None:
        self._socket.close()

    def serve(self, environments: ExecutionEnvironments) -> "RunningServer":
        return RunningServer(environments, self._socket)


class RunningServer:
    def __init__(self, environments: ExecutionEnvironments, listening: socket.socket) -> None:
        import uvicorn

        config = uvicorn.Config(
            api_gateway_app(environments),
            loop="asyncio",
            http="h11",
            ws="none",
            lifespan="off",
            log_config=None,
            access_log=False,
            server_header=False,
            timeout_graceful_shutdown=SHUTDOWN_TIMEOUT_SECONDS,
        )
        self._socket = listening
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(target=self._server.run, args=([listening],), name="http-server", daemon=True)

    def __enter__(self) -> Self:
        """Returns when connections are accepted. Raises RuntimeError if the server ends before that."""
        self._socket.listen()
        self._thread.start()
        while not self._server.started:
            if not self._thread.is_alive():
                raise RuntimeError("the local HTTP server ended before it accepted connections")
            time.sleep(STARTED_CHECK_SECONDS)
        return self

    def stop(self) -> None:
        """Accepts no more requests. Does not wait for the running ones."""
        self._server.should_exit = True

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.stop()
        self._thread.join()


def api_gateway_app(environments: ExecutionEnvironments) -> Any:
    """An ASGI app that calls the handler as API Gateway does, and streams its responses."""

    async def app(scope: "Scope", receive: "Receive", send: "Send") -> None:
        body = await _read_body(receive)
        if len(body) > MAX_BODY_BYTES:
            await _send_response(_error_response(413, "Request Too Long"), send)
            return
        await _forward(environments, _to_rest_event(scope, body), receive, send)

    return app


async def _forward(environments: ExecutionEnvironments, event: ProxyResponse, receive: "Receive", send: "Send") -> None:
    parts: asyncio.Queue[Message | None] = asyncio.Queue()
    loop, gone = asyncio.get_running_loop(), asyncio.ensure_future(receive())

    def take(message: "Message") -> None:
        if gone.done():
            raise ConnectionAbortedError("the client is gone")
        loop.call_soon_threadsafe(parts.put_nowait, message)

    answering = asyncio.wrap_future(
        environments.submit(lambda handler, context: _invoke_handler(handler, event, context, take))
    )
    answering.add_done_callback(lambda _: parts.put_nowait(None))
    started = False
    while (part := await parts.get()) is not None:
        started = True
        await send(part)
    gone.cancel()
    if answering.cancelled() or answering.exception():
        logger.error("the handler failed", exc_info=None if answering.cancelled() else answering.exception())
        if not started:  # API Gateway's response to every error of a function
            await _send_response(_error_response(502, "Internal server error"), send)


def _invoke_handler(
    handler: Any, event: ProxyResponse, context: LocalLambdaContext, take: "Callable[[Message], None]"
) -> None:
    """Streams if the handler can: one that is not created by `serve` may have no `stream`."""
    if hasattr(handler, "stream"):
        handler.stream(event, context, take)
        return
    answer = handler(event, context)
    take(_start_message(answer))
    take({"type": "http.response.body", "body": _response_body(answer)})


async def _send_response(answer: ProxyResponse, send: "Send") -> None:
    await send(_start_message(answer))
    await send({"type": "http.response.body", "body": _response_body(answer)})


async def _read_body(receive: "Receive") -> bytes:
    """The body; of one that is too large, only the beginning."""
    body = b""
    while len(body) <= MAX_BODY_BYTES:
        message = await receive()
        body += message.get("body", b"")
        if not message.get("more_body"):
            break
    return body


def _to_rest_event(scope: "Scope", body: bytes) -> ProxyResponse:
    headers = {name.decode("latin-1").title(): value.decode("latin-1") for name, value in scope["headers"]}
    headers |= {"X-Forwarded-Proto": "http"}
    try:
        sent: str | bytes | None = body.decode() or None
    except UnicodeDecodeError:
        sent = body
    query = scope["query_string"].decode("latin-1")
    return rest_event(scope["method"], scope["path"], sent, headers, query=query, domain=headers.get("Host", HOST))


def _start_message(answer: ProxyResponse) -> "Message":
    many: dict[str, list[str]] = answer.get("multiValueHeaders") or {}
    one = {name: [value] for name, value in (answer.get("headers") or {}).items() if name not in many}
    headers = [(name, value) for name, values in (many | one).items() for value in values]
    sent = [(name.lower().encode("latin-1"), str(value).encode("latin-1")) for name, value in headers]
    return {"type": "http.response.start", "status": answer["statusCode"], "headers": sent}


def _response_body(answer: ProxyResponse) -> bytes:
    body = answer.get("body") or ""
    return base64.b64decode(body) if answer.get("isBase64Encoded") else body.encode()


def _error_response(status: int, text: str) -> ProxyResponse:
    headers = {"content-type": "application/json"}
    return {"statusCode": status, "headers": headers, "body": f'{{"message": "{text}"}}'}
