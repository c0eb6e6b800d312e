"""A client of Lambda's Runtime API, which hands out events and takes responses and errors.

Source: https://docs.aws.amazon.com/lambda/latest/dg/runtimes-api.html
"""

from collections.abc import Mapping
from http.client import HTTPConnection, HTTPException, HTTPResponse

from agentfn.runtime.fault import Fault
from agentfn.runtime.invocation import Invocation
from agentfn.runtime.streaming_response import StreamingResponse
from agentfn.telemetry import logger

API_PATH = "/2018-06-01/runtime"
MAX_RESPONSE_BYTES = 6_291_556  # Lambda's limit of a response that is not streamed
RESPONSE_TOO_LARGE_TEXT = (
    "the response has {size:,} bytes, and Lambda's limit is {limit:,}; return less, or a link to a file"
)


class RuntimeApiError(Exception):
    """An unexpected response of the Runtime API. It ends the process, and Lambda starts another."""


class RuntimeApi:
    """`address` is host:port. Uses one connection, which stays open between events."""

    def __init__(self, address: str) -> None:
        self._address = address
        self._connection = HTTPConnection(address)

    def next_invocation(self) -> Invocation:
        """Waits for the next event. Lambda may freeze the process meanwhile."""
        response, body = self._request("GET", "/invocation/next", expected=200)
        return Invocation(body, {name.lower(): value for name, value in response.getheaders()})

    def send_response(self, invocation: Invocation, body: bytes, content_type: str = "application/json") -> None:
        """Sends a complete response. Raises Fault for one that is too large, without sending anything."""
        if len(body) > MAX_RESPONSE_BYTES:
            raise Fault(
                "Function.ResponseSizeTooLarge",
                RESPONSE_TOO_LARGE_TEXT.format(size=len(body), limit=MAX_RESPONSE_BYTES),
            )
        path, headers = f"/invocation/{invocation.id}/response", {"Content-Type": content_type}
        self._request("POST", path, body, headers | _invocation_id_header(invocation))

    def streaming_response(self, invocation: Invocation) -> StreamingResponse:
        """A response that is not started yet, on a separate connection: if that breaks, this one still works."""
        path = f"{API_PATH}/invocation/{invocation.id}/response"
        return StreamingResponse(self._address, path, _invocation_id_header(invocation))

    def report_error(self, invocation: Invocation, fault: Fault) -> None:
        headers = _invocation_id_header(invocation) | {"Lambda-Runtime-Function-XRay-Error-Cause": fault.xray_cause()}
        self._post_error(f"/invocation/{invocation.id}/error", fault, headers, invocation.id)

    def report_init_error(self, fault: Fault, kind: str = "") -> None:
        self._post_error("/init/error", fault, {"Lambda-Runtime-Function-Error-Type": kind or fault.kind})

    def report_restore_error(self, fault: Fault, kind: str) -> None:
        self._post_error("/restore/error", fault, {"Lambda-Runtime-Function-Error-Type": kind})

    def wait_for_restore(self) -> None:
        """Lambda takes the snapshot during this call. It returns in each environment that is restored from it."""
        self._request("GET", "/restore/next", expected=200)
        self._connection.close()  # the restored environment may have another Runtime API

    def _post_error(self, path: str, fault: Fault, headers: Mapping[str, str], request_id: str = "") -> None:
        kind = {"Lambda-Runtime-Function-Error-Type": fault.kind, "Content-Type": "application/json"}
        self._request("POST", path, fault.to_json(request_id), {**kind, **headers})

    def _request(
        self, method: str, path: str, body: bytes = b"", headers: Mapping[str, str] | None = None, expected: int = 202
    ) -> tuple[HTTPResponse, bytes]:
        try:
            response, answer = self._send_request(method, path, body, headers or {})
        except (HTTPException, OSError) as error:
            logger.debug("the Runtime API closed the connection; trying once more: %s", error)
            self._connection.close()
            response, answer = self._send_request(method, path, body, headers or {})
        if response.status != expected:
            raise RuntimeApiError(f"{method} {path}: {response.status} {answer[:500].decode(errors='replace')}")
        return response, answer

    def _send_request(
        self, method: str, path: str, body: bytes, headers: Mapping[str, str]
    ) -> tuple[HTTPResponse, bytes]:
        self._connection.request(method, API_PATH + path, body or None, dict(headers))
        response = self._connection.getresponse()
        return response, response.read()


def _invocation_id_header(invocation: Invocation) -> dict[str, str]:
    """The header that names the invocation attempt, if Lambda sent one."""
    name = "Lambda-Runtime-Invocation-Id"
    told = invocation.headers.get(name.lower())
    return {name: told} if told else {}
