"""A response that is streamed to the Runtime API.

Source: https://docs.aws.amazon.com/lambda/latest/dg/runtimes-custom.html#runtimes-custom-response-streaming and
https://docs.aws.amazon.com/apigateway/latest/developerguide/response-transfer-mode-lambda.html
"""

import base64
import json
from collections.abc import Mapping
from http.client import HTTPConnection, HTTPException
from typing import TYPE_CHECKING, Any

from agentfn.runtime.fault import Fault
from agentfn.telemetry import logger

if TYPE_CHECKING:
    from starlette.types import Message

PRELUDE_DELIMITER = b"\0" * 8
SEND_TIMEOUT_SECONDS = 30.0  # for one chunk; the event loop, and with it the renewal of leases, is blocked meanwhile
ERROR_TRAILERS = ("Lambda-Runtime-Function-Error-Type", "Lambda-Runtime-Function-Error-Body")
STREAMING_HEADERS = {
    "Content-Type": "application/vnd.awslambda.http-integration-response",
    "Lambda-Runtime-Function-Response-Mode": "streaming",
    "Transfer-Encoding": "chunked",
    "Trailer": ", ".join(ERROR_TRAILERS),
}


class StreamingResponse:
    """Starts with the message that has the status. Once `started`, an error can only end the stream."""

    def __init__(self, address: str, path: str, headers: Mapping[str, str]) -> None:
        self._connection = HTTPConnection(address, timeout=SEND_TIMEOUT_SECONDS)
        self._path = path
        self._headers = {**STREAMING_HEADERS, **headers}
        self._disconnected = False
        self.started = False

    def send(self, message: "Message") -> None:
        """Sends one ASGI message. Raises OSError after the client disconnected."""
        if self._disconnected:
            raise ConnectionAbortedError("the client is gone")
        try:
            if message["type"] == "http.response.start":
                self._start(encode_prelude(message))
            elif body := message.get("body", b""):  # an empty chunk would end the response
                self._send_chunk(body)
        except OSError:
            self._disconnected = True
            raise

    def end(self, fault: Fault | None = None) -> None:
        """Ends the response, with the error that interrupted it if there is one."""
        try:
            if not self._disconnected:
                self._send_end(_error_trailers(fault) if fault else b"")
        except (HTTPException, OSError) as error:
            logger.info("the client did not read the whole response: %s", error)
        finally:
            self._connection.close()

    def _start(self, first: bytes) -> None:
        self._connection.putrequest("POST", self._path, skip_accept_encoding=True)
        for name, value in self._headers.items():
            self._connection.putheader(name, value)
        self._connection.endheaders()
        self.started = True
        self._send_chunk(first)

    def _send_chunk(self, body: bytes) -> None:
        self._connection.send(b"%x\r\n%b\r\n" % (len(body), body))

    def _send_end(self, trailers: bytes) -> None:
        self._connection.send(b"0\r\n" + trailers + b"\r\n")
        response = self._connection.getresponse()
        body = response.read()
        if response.status != 202:
            logger.warning("the Runtime API answered %s %s", response.status, body[:500].decode(errors="replace"))


def encode_prelude(message: "Message") -> bytes:
    """The prelude: status and headers in the format of API Gateway and function URLs.

    Content-Length is left out, because the length of a stream is not known.
    """
    cookies: list[str] = []
    others: dict[str, list[str]] = {}
    for raw, value in message.get("headers", []):
        name, text = raw.decode("latin-1").lower(), value.decode("latin-1")
        if name == "set-cookie":
            cookies.append(text)
        elif name != "content-length":
            others.setdefault(name, []).append(text)
    told: dict[str, Any] = {
        "statusCode": message["status"],
        "headers": {name: values[0] for name, values in others.items() if len(values) == 1},
        "multiValueHeaders": {name: values for name, values in others.items() if len(values) > 1},
        "cookies": cookies,
    }
    return (
        json.dumps({name: value for name, value in told.items() if value or name == "headers"}).encode()
        + PRELUDE_DELIMITER
    )


def _error_trailers(fault: Fault) -> bytes:
    kind, body = ERROR_TRAILERS
    told = base64.b64encode(fault.to_json()).decode()
    return f"{kind}: {fault.kind}\r\n{body}: {told}\r\n".encode("latin-1", "replace")
