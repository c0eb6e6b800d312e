"""A stub A2A agent that plays scripted responses, one per request."""

import json
import threading
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

ScriptedResponse = dict[str, Any] | int


def make_task(state: str, *artifacts: dict[str, Any], text: str = "") -> dict[str, Any]:
    status: dict[str, Any] = {"state": f"TASK_STATE_{state}"}
    if text:
        status["message"] = {"messageId": "m", "role": "ROLE_AGENT", "parts": [{"text": text}]}
    return {"id": "t-1", "contextId": "c-1", "status": status, "artifacts": list(artifacts)}


class StubAgent:
    """`answers` are results of JSON-RPC calls or HTTP statuses; `uploads` are those of other POSTs, with 201.
    `requests` has the path and Authorization of each request.
    """

    def __init__(self, url: str) -> None:
        self.url = url
        self.answers: deque[ScriptedResponse] = deque()
        self.uploads: deque[ScriptedResponse] = deque()
        self.files: dict[str, bytes] = {}
        self.requests: list[tuple[str, str]] = []

    @property
    def card(self) -> dict[str, Any]:
        return {
            "name": "stranger",
            "supportedInterfaces": [{"url": self.url, "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}],
        }


@contextmanager
def stub_agent() -> Iterator[StubAgent]:
    class Door(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._hear()
            if self.path.endswith("agent-card.json"):
                self._say(200, json.dumps(one.card).encode())
            elif self.path in one.files:
                self._say(200, one.files[self.path])
            else:
                self._say(404, b"")

        def do_POST(self) -> None:
            self._hear()
            body = self.rfile.read(int(self.headers["Content-Length"]))
            if self.path != "/":
                offer = one.uploads.popleft()
                self._say(*((offer, b"no") if isinstance(offer, int) else (201, json.dumps(offer).encode())))
                return
            call = json.loads(body)
            answer = one.answers.popleft()
            if isinstance(answer, int):
                self._say(answer, b"busy")
            else:
                self._say(200, json.dumps({"jsonrpc": "2.0", "id": call["id"], "result": answer}).encode())

        def log_message(self, *_: object) -> None:
            pass

        def _hear(self) -> None:
            one.requests.append((self.path, self.headers.get("Authorization", "")))

        def _say(self, status: int, body: bytes) -> None:
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

    with ThreadingHTTPServer(("127.0.0.1", 0), Door) as server:
        server.daemon_threads = False
        one = StubAgent(f"http://127.0.0.1:{server.server_address[1]}")
        thread = threading.Thread(target=server.serve_forever, args=(0.02,))
        thread.start()
        yield one
        server.shutdown()
        thread.join()
