"""A model on loopback that notices when it is asked: OpenAI's chat completions, whole or streamed, and Gemini's."""

import json
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import TracebackType
from typing import Any, Self

SAID = "Nothing to be seen."
USAGE = {"prompt_tokens": 9, "completion_tokens": 4, "total_tokens": 13}


class StubModel:
    """Use as a context manager. `asked` is what the process that it watches had spent when its first request came."""

    def __init__(self) -> None:
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._process, self._started = 0, 0.0
        self.asked: dict[str, float] | None = None

    def __enter__(self) -> Self:
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}/v1"

    def watch(self, process: int, started: float) -> None:
        self._process, self._started, self.asked = process, started, None

    def notice(self) -> None:
        if self.asked is None and self._process:
            self.asked = _spent(self._process, self._started)


def _spent(process: int, started: float) -> dict[str, float]:
    """As `cold_peers/clock.py` tells it, from outside. The clock of another process: clock_getcpuclockid(3)."""
    wall, cpu = time.monotonic() - started, time.clock_gettime((~process << 3) | 2)
    [line] = [line for line in Path(f"/proc/{process}/status").read_text().splitlines() if line.startswith("VmHWM")]
    return {"wall": wall, "cpu": cpu, "peak": int(line.split()[1]) / 1024}


def _handler(stub: StubModel) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            stub.notice()
            asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            kind, body = _answer(self.path, asked)
            self.send_response(200)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            """Says nothing."""

    return Handler


def _answer(path: str, asked: dict[str, Any]) -> tuple[str, bytes]:
    """Its media type, and the body."""
    if "generateContent" in path:
        content = {"role": "model", "parts": [{"text": SAID}]}
        counted = {"promptTokenCount": 9, "candidatesTokenCount": 4, "totalTokenCount": 13}
        return _json({"candidates": [{"content": content, "finishReason": "STOP"}], "usageMetadata": counted})
    head = {"id": "chatcmpl-1", "created": 1_700_000_000, "model": "gpt-5"}
    message = {"role": "assistant", "content": SAID}
    if not asked.get("stream"):
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
        return _json({**head, "object": "chat.completion", "choices": [choice], "usage": USAGE})
    steps = ({"delta": message, "finish_reason": None}, {"delta": {}, "finish_reason": "stop"})
    chunks: list[dict[str, Any]] = [{"choices": [{"index": 0, **step}]} for step in steps]
    chunks.append({"choices": [], "usage": USAGE})
    lines = [json.dumps({**head, "object": "chat.completion.chunk", **chunk}) for chunk in chunks]
    return "text/event-stream", "".join(f"data: {line}\n\n" for line in [*lines, "[DONE]"]).encode()


def _json(shape: dict[str, Any]) -> tuple[str, bytes]:
    return "application/json", json.dumps(shape).encode()
