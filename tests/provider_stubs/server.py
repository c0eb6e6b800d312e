"""A loopback server in the place of a model provider: OpenAI chat completions, Anthropic messages, Bedrock Converse.

    with Provider(says("Paris."), fails(429, retry_after="7"), hangs()) as provider:
        ...                                # provider.openai and provider.anthropic are base addresses
    assert provider.requests[0].body["model"] == "gpt-4o"

One script serves all dialects, plain and streamed: the request decides how an answer is written. A request that the
real provider would refuse is answered with 400 and takes no line; so is one that comes when the script has run out.
"""

import json
import select
import socket
import struct
import threading
from contextlib import suppress
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

from provider_stubs import dialects
from provider_stubs.request_rules import request_faults
from provider_stubs.script import (
    BrokenStream,
    NoResponse,
    RawBody,
    RepeatedEvents,
    ScriptedError,
    ScriptedReply,
    ScriptEntry,
    calls,
    deltas,
    drops,
    fails,
    hangs,
    says,
    trickles,
)

__all__ = [
    "BrokenStream",
    "NoResponse",
    "RawBody",
    "ReceivedRequest",
    "RepeatedEvents",
    "ScriptEntry",
    "ScriptedError",
    "ScriptedReply",
    "StubProvider",
    "calls",
    "deltas",
    "drops",
    "fails",
    "hangs",
    "says",
    "trickles",
]  # fmt: skip

PAUSE_SECONDS = 0.3  # between two bytes of a trickle, and between two looks at a hanging client
RESET = struct.pack("ii", 1, 0)  # SO_LINGER: a close that is a reset


@dataclass(frozen=True)
class ReceivedRequest:
    path: str
    headers: dict[str, str]
    body: dict[str, Any]
    port: int  # the client's, the same for all requests of one connection


class StubProvider:
    """The server. `requests` is what it saw, in order; `refusals` what was wrong with them by the provider's rules;
    `hang_ups` counts clients that left while it was stuck.
    """

    def __init__(self, *script: ScriptEntry, host: str = "127.0.0.1", port: int = 0) -> None:
        self.requests: list[ReceivedRequest] = []
        self.refusals: list[str] = []
        self.hang_ups = 0
        self.closing = threading.Event()
        self._script = list(script)
        self._lock = threading.Lock()
        self._server = _StubServer((host, port), _StubHandler)
        self._server.provider = self
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)

    @property
    def openai(self) -> str:
        return f"{self.anthropic}/v1"

    @property
    def bedrock(self) -> str:
        return self.anthropic

    @property
    def anthropic(self) -> str:
        host, port = self._server.server_address[:2]
        return f"http://{host!s}:{port}"

    def play(self, *lines: ScriptEntry) -> None:
        """Adds to the end of the script."""
        with self._lock:
            self._script.extend(lines)

    def next_line(self, request: ReceivedRequest) -> ScriptEntry:
        with self._lock:
            self.requests.append(request)
            if wrong := request_faults(dialects.dialect_of(request.path), request.body):
                self.refusals += wrong
                return fails(400, wrong[0], kind="invalid_request_error")
            if self._script:
                return self._script.pop(0)
        return fails(400, f"the stub's script is over at request {len(self.requests)}", kind="script_over")

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.closing.set()
        self._server.shutdown()
        self._thread.join()
        self._server.hang_up()
        self._server.server_close()


class _StubServer(ThreadingHTTPServer):
    provider: StubProvider
    daemon_threads = True

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._open: set[socket.socket] = set()

    def process_request(self, request: Any, client_address: Any) -> None:
        self._open.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        self._open.discard(request)
        super().shutdown_request(request)

    def hang_up(self) -> None:
        for connection in list(self._open):
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Clients that leave early are part of the tests."""


class _StubHandler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # head and body go out in two writes
    server: _StubServer

    def log_message(self, *_: object) -> None:
        pass

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        headers = {name.lower(): value for name, value in self.headers.items()}
        line = self.server.provider.next_line(ReceivedRequest(self.path, headers, body, self.client_address[1]))
        dialect = dialects.dialect_of(self.path)
        if dialects.streams(self.path, body) and not isinstance(line, ScriptedError | NoResponse | RawBody):
            self._stream(line, dialects.streamed(dialect, line, body), dialects.CONTENT_TYPE[dialect])
            return
        match line:
            case ScriptedReply():
                self._answer(200, dialects.answer(dialect, line, str(body.get("model"))), {})
            case ScriptedError():
                self._answer(line.status, *dialects.failure(dialect, line))
            case RawBody():
                self._answer(200, line.shape, {})
            case NoResponse("drop"):
                self.close_connection = True
            case NoResponse("trickle"):
                self._trickle()
            case NoResponse():
                self._wait_for_hang_up()
            case _:
                raise TypeError(f"{line} is for a stream")

    def _stream(self, line: ScriptEntry, events: list[bytes], content_type: str) -> None:
        how = line.ending if isinstance(line, BrokenStream) else "end"
        ending = [] if how in ("hang", "reset") else [b"0\r\n\r\n"]
        *chunks, last = [f"{len(event):x}\r\n".encode() + event + b"\r\n" for event in events] + ending or [b""]
        if chunks and ending:  # the end comes with the last event, so that a client sees both
            last = chunks.pop() + last
        try:
            self._send_headers(200, {"content-type": content_type, "transfer-encoding": "chunked"})
            for chunk in (*chunks, last):
                self.wfile.write(chunk)
        except OSError:
            self.server.provider.hang_ups += 1
            self.close_connection = True
            return
        if how == "hang":
            self._wait_for_hang_up()
        elif how == "reset":
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
            self.connection.close()
            self.close_connection = True

    def _answer(self, status: int, shape: dict[str, Any], headers: dict[str, str]) -> None:
        payload = json.dumps(shape).encode()
        self._send_headers(status, {"content-length": str(len(payload)), **headers})
        self.wfile.write(payload)

    def _send_headers(self, status: int, headers: dict[str, str]) -> None:
        self.send_response(status)
        for name, value in {"content-type": "application/json", **headers}.items():
            self.send_header(name, value)
        self.end_headers()

    def _trickle(self) -> None:
        self._send_headers(200, {"content-length": "100000"})
        try:
            while not self.server.provider.closing.wait(PAUSE_SECONDS):
                self.wfile.write(b" ")
        except OSError:
            self.server.provider.hang_ups += 1
        self.close_connection = True

    def _wait_for_hang_up(self) -> None:
        while not self.server.provider.closing.wait(PAUSE_SECONDS):
            readable, _, _ = select.select([self.connection], [], [], 0)
            if readable and not self._peek():
                self.server.provider.hang_ups += 1
                break
        self.close_connection = True

    def _peek(self) -> bytes:
        """Nothing where the client is gone; one that leaves with something unread resets the connection."""
        with suppress(OSError):
            return bytes(self.connection.recv(1, socket.MSG_PEEK))
        return b""
