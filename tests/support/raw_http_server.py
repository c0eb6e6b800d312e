"""An HTTP server on loopback that sends raw responses and counts connections."""

import contextlib
import socket
import socketserver
import ssl
import threading
from collections.abc import Callable
from types import TracebackType
from typing import Any, Self

Write = Callable[[bytes], None]
RawResponse = bytes | Callable[[Write, threading.Event], None]


def http_response(content: bytes, *headers: str, status: str = "200 OK") -> bytes:
    lines = [f"HTTP/1.1 {status}", f"Content-Length: {len(content)}", *headers]
    return "\r\n".join([*lines, "", ""]).encode() + content


def redirect_response(location: str, status: int = 302) -> bytes:
    return http_response(b"", f"Location: {location}", status=f"{status} Elsewhere")


class RawHttpServer:
    """A context manager. A callable answer gets a write function and an event that is set at the end."""

    def __init__(self, answer: RawResponse, host: str = "127.0.0.1", tls: ssl.SSLContext | None = None) -> None:
        self.answer = answer
        self.connections = 0
        self.heads: list[str] = []
        self.bodies: list[bytes] = []
        self._over = threading.Event()
        outer = self

        class Handler(socketserver.StreamRequestHandler):
            def setup(self) -> None:
                outer.connections += 1
                if tls is not None:
                    self.request = tls.wrap_socket(self.request, server_side=True)
                super().setup()

            def handle(self) -> None:
                with contextlib.suppress(OSError):
                    outer._serve(self.rfile, self.wfile)

            def finish(self) -> None:
                with contextlib.suppress(OSError):
                    super().finish()
                self.request.close()  # the server closes the one that it has accepted, which TLS has taken over

        class Server(socketserver.ThreadingTCPServer):
            address_family = socket.AF_INET6 if ":" in host else socket.AF_INET
            daemon_threads = True

            def handle_error(self, request: Any, client_address: Any) -> None:
                return  # a client that did not like the certificate

        self._server = Server((host, 0), Handler)
        self.port = int(self._server.server_address[1])
        self.url = f"http{'s' if tls else ''}://{host}:{self.port}"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self._over.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def header(self, name: str) -> str:
        """A header of the latest request, '' if it had none."""
        lines = (line.partition(": ") for line in self.heads[-1].splitlines()[1:])
        return next((value for key, _, value in lines if key.lower() == name.lower()), "")

    def _serve(self, reader: Any, writer: Any) -> None:
        lines = [reader.readline()]
        while lines[-1].strip():
            lines.append(reader.readline())
        self.heads.append(b"".join(lines).decode("latin-1"))
        if length := self.header("content-length"):
            self.bodies.append(reader.read(int(length)))
        if isinstance(self.answer, bytes):
            writer.write(self.answer)
        else:
            self.answer(writer.write, self._over)
