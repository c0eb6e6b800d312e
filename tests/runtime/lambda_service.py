"""Lambda's side of the Runtime API, for one execution environment: hands out events, and keeps what comes back."""

import base64
import json
import queue
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from uuid import uuid4

ARN = "arn:aws:lambda:eu-central-1:123456789012:function:clerk:live"
NUL = b"\0" * 8


@dataclass
class FunctionResponse:
    """What a runtime said to one event, part by part as it came; None in `parts` is its end."""

    request_id: str
    hang_up: bool = False
    kind: str = ""  # the last word of the path: response or error
    headers: dict[str, str] = field(default_factory=dict)
    trailers: dict[str, str] = field(default_factory=dict)
    parts: "queue.Queue[bytes | None]" = field(default_factory=queue.Queue)
    read: bytes = b""
    done: bool = False

    def take(self) -> bytes:
        """The next part; empty at the end."""
        part = None if self.done else self.parts.get(timeout=120)
        self.done = part is None
        self.read += part or b""
        return part or b""

    def until(self, text: bytes) -> None:
        while text not in self.read:
            assert self.take(), f"it ended without {text!r}: {self.read!r}"

    def whole(self) -> bytes:
        while self.take():
            pass
        return self.read

    @property
    def streamed(self) -> bool:
        return self.headers.get("lambda-runtime-function-response-mode") == "streaming"

    def head(self) -> dict[str, Any]:
        self.until(NUL)
        head: dict[str, Any] = json.loads(self.read.partition(NUL)[0])
        return head

    def body(self) -> bytes:
        return self.whole().partition(NUL)[2]

    def json(self) -> Any:
        whole = self.whole()
        return json.loads(whole.partition(NUL)[2] or whole)

    def broken_off_with(self) -> dict[str, Any]:
        """The error in the trailers."""
        self.whole()
        told: dict[str, Any] = json.loads(base64.b64decode(self.trailers["lambda-runtime-function-error-body"]))
        return told


class RuntimeApiServer:
    """`told` has what comes besides answers: errors of the start, and the steps of SnapStart, in their order."""

    def __init__(self) -> None:
        self._events: queue.Queue[tuple[FunctionResponse, bytes, dict[str, str]]] = queue.Queue()
        self._answers: dict[str, FunctionResponse] = {}
        self.told: queue.Queue[tuple[str, Any]] = queue.Queue()
        self.restored = threading.Event()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (Handler,), {"service": self}))
        self._server.daemon_threads = True
        threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
        self.address = f"127.0.0.1:{self._server.server_port}"

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    def invoke(self, event: Any, seconds: float = 30.0, *, hang_up: bool = False, **headers: str) -> FunctionResponse:
        """`hang_up` ends the connection after the first part of a streamed answer, as if its reader had gone."""
        answer = FunctionResponse(str(uuid4()), hang_up)
        self._answers[answer.request_id] = answer
        told = {
            "Lambda-Runtime-Aws-Request-Id": answer.request_id,
            "Lambda-Runtime-Deadline-Ms": str(int((time.time() + seconds) * 1000)),
            "Lambda-Runtime-Invoked-Function-Arn": ARN,
            **{name.replace("_", "-"): value for name, value in headers.items()},
        }
        self._events.put((answer, event if isinstance(event, bytes) else json.dumps(event).encode(), told))
        return answer

    def next(self) -> tuple[FunctionResponse, bytes, dict[str, str]]:
        return self._events.get()

    def response_to(self, request_id: str) -> FunctionResponse:
        return self._answers[request_id]


class Handler(BaseHTTPRequestHandler):
    service: RuntimeApiServer
    protocol_version = "HTTP/1.1"

    def log_message(self, *_: Any) -> None:
        pass

    def do_GET(self) -> None:
        assert self.path.startswith("/2018-06-01/runtime/")
        if self.path.endswith("/restore/next"):
            self.service.told.put(("snapshot", None))
            self.service.restored.wait(120)
            self._say(200)
            return
        _, event, headers = self.service.next()
        self._say(200, event, {**headers, "Content-Type": "application/json"})

    def do_POST(self) -> None:
        *_, which, kind = self.path.split("/")
        if which in ("init", "restore"):
            self.service.told.put((f"{which} {kind}", (dict(self.headers), json.loads(b"".join(self._read({}))))))
            self._say(202)
            return
        answer = self.service.response_to(which)
        answer.kind, answer.headers = kind, {name.lower(): value for name, value in self.headers.items()}
        for part in self._read(answer.trailers):
            answer.parts.put(part)
            if answer.hang_up:
                self.close_connection = True
                answer.parts.put(None)
                return
        self._say(202)
        answer.parts.put(None)

    def _read(self, trailers: dict[str, str]) -> Iterator[bytes]:
        if self.headers.get("Transfer-Encoding") != "chunked":
            yield self.rfile.read(int(self.headers.get("Content-Length") or 0))
            return
        while size := int(self.rfile.readline(), 16):
            yield self.rfile.read(size)
            self.rfile.readline()
        while line := self.rfile.readline().decode().strip():
            name, _, value = line.partition(": ")
            trailers[name.lower()] = value

    def _say(self, status: int, body: bytes = b"", headers: dict[str, str] | None = None) -> None:
        self.send_response(status)
        for name, value in {**(headers or {}), "Content-Length": str(len(body))}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)
