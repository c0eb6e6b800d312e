"""The front door: HTTP in, a REST API's event to the handler, and its answer out."""

import asyncio
import base64
import socket
import threading
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from agentfn.errors import ConfigurationError
from agentfn.local.execution_environments import Environments
from agentfn.local.lambda_events import LambdaContext, rest_event
from agentfn.telemetry import logger

if TYPE_CHECKING:
    from collections.abc import Callable

    from starlette.types import Message, Receive, Scope, Send

HOST = "127.0.0.1"
LARGEST = 10 * 1024 * 1024  # bytes; API Gateway takes no more
GRACE = 3  # seconds that requests have to end when the server stops

Answer = dict[str, Any]


class FrontDoor:
    """Takes its port when it is made, so that the URL is known before the agent is; serves as a context manager.

    Port 0 is any free one. Raises ConfigurationError for a port that is taken.
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

    def serving(self, environments: Environments) -> "Serving":
        return Serving(environments, self._socket)


class Serving:
    def __init__(self, environments: Environments, listening: socket.socket) -> None:
        import uvicorn

        config = uvicorn.Config(
            gateway(environments),
            loop="asyncio",
            http="h11",
            ws="none",
            lifespan="off",
            log_config=None,
            access_log=False,
            server_header=False,
            timeout_graceful_shutdown=GRACE,
        )
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(target=self._server.run, args=([listening],), name="front-door", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def stop(self) -> None:
        """Takes no more requests; returns at once."""
        self._server.should_exit = True

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.stop()
        self._thread.join()


def gateway(environments: Environments) -> Any:
    """An ASGI app that does what API Gateway does: it passes answers on while they are made."""

    async def app(scope: "Scope", receive: "Receive", send: "Send") -> None:
        body = await _body(receive)
        if len(body) > LARGEST:
            await _tell(_plain(413, "Request Too Long"), send)
            return
        await _pass_on(environments, _event(scope, body), receive, send)

    return app


async def _pass_on(environments: Environments, event: Answer, receive: "Receive", send: "Send") -> None:
    parts: asyncio.Queue[Message | None] = asyncio.Queue()
    loop, gone = asyncio.get_running_loop(), asyncio.ensure_future(receive())

    def take(message: "Message") -> None:
        if gone.done():
            raise ConnectionAbortedError("the client is gone")
        loop.call_soon_threadsafe(parts.put_nowait, message)

    answering = asyncio.wrap_future(
        environments.submit(lambda handler, context: _answer(handler, event, context, take))
    )
    answering.add_done_callback(lambda _: parts.put_nowait(None))
    started = False
    while (part := await parts.get()) is not None:
        started = True
        await send(part)
    gone.cancel()
    if answering.cancelled() or answering.exception():
        logger.error("the handler broke", exc_info=None if answering.cancelled() else answering.exception())
        if not started:  # API Gateway answers like this, whatever broke
            await _tell(_plain(502, "Internal server error"), send)


def _answer(handler: Any, event: Answer, context: LambdaContext, take: "Callable[[Message], None]") -> None:
    """A handler that is not made by `serve`, or wraps one, may not be able to stream."""
    if hasattr(handler, "stream"):
        handler.stream(event, context, take)
        return
    answer = handler(event, context)
    take(_start(answer))
    take({"type": "http.response.body", "body": _content(answer)})


async def _tell(answer: Answer, send: "Send") -> None:
    await send(_start(answer))
    await send({"type": "http.response.body", "body": _content(answer)})


async def _body(receive: "Receive") -> bytes:
    """The whole body, or the start of one that is too large."""
    body = b""
    while len(body) <= LARGEST:
        message = await receive()
        body += message.get("body", b"")
        if not message.get("more_body"):
            break
    return body


def _event(scope: "Scope", body: bytes) -> Answer:
    headers = {name.decode("latin-1").title(): value.decode("latin-1") for name, value in scope["headers"]}
    headers |= {"X-Forwarded-Proto": "http"}
    try:
        sent: str | bytes | None = body.decode() or None
    except UnicodeDecodeError:
        sent = body
    query = scope["query_string"].decode("latin-1")
    return rest_event(scope["method"], scope["path"], sent, headers, query=query, domain=headers.get("Host", HOST))


def _start(answer: Answer) -> "Message":
    many: dict[str, list[str]] = answer.get("multiValueHeaders") or {}
    one = {name: [value] for name, value in (answer.get("headers") or {}).items() if name not in many}
    headers = [(name, value) for name, values in (many | one).items() for value in values]
    sent = [(name.lower().encode("latin-1"), str(value).encode("latin-1")) for name, value in headers]
    return {"type": "http.response.start", "status": answer["statusCode"], "headers": sent}


def _content(answer: Answer) -> bytes:
    body = answer.get("body") or ""
    return base64.b64decode(body) if answer.get("isBase64Encoded") else body.encode()


def _plain(status: int, text: str) -> Answer:
    headers = {"content-type": "application/json"}
    return {"statusCode": status, "headers": headers, "body": f'{{"message": "{text}"}}'}
