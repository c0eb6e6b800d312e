"""A webhook on this machine's loopback that keeps what it is sent."""

import asyncio
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self

PATIENCE = 30.0  # seconds
TOKEN = "a secret of the subscriber"


class Webhook:
    """`posts` are the bodies that came with the token, `strangers` the others."""

    def __init__(self) -> None:
        self.posts: list[Any] = []
        self.strangers: list[Any] = []
        webhook = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                known = self.headers["X-A2A-Notification-Token"] == TOKEN
                (webhook.posts if known else webhook.strangers).append(body)
                self.send_response(200)
                self.end_headers()

            def log_message(self, *_: Any) -> None:
                return

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}/hook"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    async def told(self, word: str) -> bool:
        """Whether a post with that word comes while we wait."""
        for _ in range(int(PATIENCE / 0.2)):
            if any(word in json.dumps(post) for post in self.posts):
                return True
            await asyncio.sleep(0.2)
        return False
