"""Fault injection at named points of a worker process: around each AWS call, tool effect and model response."""

import io
import os
import signal
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from botocore.awsrequest import AWSResponse, HeadersDict
from botocore.exceptions import ConnectionClosedError, EndpointConnectionError

from chaos.fault_plan import Fault

NotifyParent = Callable[[str], None]

ERROR_CODES = {
    "throttle": {"dynamodb": "ThrottlingException", "sqs": "RequestThrottled", "s3": "SlowDown"},
    "fail": {"dynamodb": "InternalServerError", "sqs": "InternalError", "s3": "InternalError"},
}
ERROR_BODIES = {
    "json": '{{"__type": "chaos#{code}", "message": "by order"}}',
    "xml": "<Error><Code>{code}</Code><Message>by order</Message></Error>",
}
TRANSACTION_CONFLICT = (
    '{"__type": "chaos#TransactionCanceledException", "CancellationReasons": [{"Code": "TransactionConflict"}]}'
)


@dataclass
class FaultInjector:
    """Injects at most one fault per invocation. `tell` notifies the parent before this process stops."""

    tell: NotifyParent
    fault: Fault | None = None
    injected: bool = False
    _passed: int = 0
    _refused: str = ""  # id of the call whose retries fail too
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def begin(self, fault: Fault | None) -> None:
        with self._lock:
            self.fault, self.injected, self._passed, self._refused = fault, False, 0, ""

    def attach(self, client: Any) -> None:
        service, session = client.meta.service_model.service_name, client._endpoint.http_session

        def before_send(request: Any, event_name: str, **_: Any) -> AWSResponse | None:
            return self._send(service, session, request, event_name.rsplit(".", 1)[-1])

        client.meta.events.register(f"before-send.{client.meta.service_model.service_id.hyphenize()}", before_send)

    def reach(self, point: str) -> None:
        """Passes a point at which the process can be killed or frozen."""
        if self._is_due(point):
            self._stop()

    def _send(self, service: str, session: Any, request: Any, call: str) -> AWSResponse | None:
        """The response that replaces the real one if the fault is due at this call, else None."""
        attempt = str(request.headers.get("amz-sdk-invocation-id"))
        if attempt == self._refused:
            return self._refuse(service, request)
        if self._is_due(f"before {call}"):
            return self._inject(service, session, request, attempt)
        if self._is_due(f"after {call}"):
            session.send(request)
            self._stop()
        return None

    def _inject(self, service: str, session: Any, request: Any, attempt: str) -> AWSResponse | None:
        kind = self.fault.kind if self.fault else ""
        match kind:
            case "kill" | "freeze":
                self._stop()
                return None
            case "throttle":
                return _error_response(service, request, "throttle")
            case "conflict":
                return _http_response(request, 400, TRANSACTION_CONFLICT)
            case "fail" | "part":
                self._refused = attempt
                return self._refuse(service, request)
        self._refused = attempt if kind == "lose and fail" else ""
        session.send(request)
        raise ConnectionClosedError(endpoint_url=request.url)

    def _refuse(self, service: str, request: Any) -> AWSResponse:
        if self.fault is not None and self.fault.kind == "part":
            raise EndpointConnectionError(endpoint_url=request.url)
        return _error_response(service, request, "fail")

    def _is_due(self, point: str) -> bool:
        with self._lock:
            if self.fault is None or self.injected or self.fault.point != point:
                return False
            self._passed += 1
            self.injected = self._passed == self.fault.count
            return self.injected

    def _stop(self) -> None:
        assert self.fault is not None
        self.tell("frozen" if self.fault.kind == "freeze" else "killed")
        os.kill(os.getpid(), signal.SIGSTOP if self.fault.kind == "freeze" else signal.SIGKILL)


def _error_response(service: str, request: Any, kind: str) -> AWSResponse:
    code = ERROR_CODES[kind][service]
    status = 500 if kind == "fail" else 503 if service == "s3" else 400
    return _http_response(request, status, ERROR_BODIES["xml" if service == "s3" else "json"].format(code=code))


def _http_response(request: Any, status: int, body: str) -> AWSResponse:
    headers: Any = HeadersDict({"content-type": "application/x-amz-json-1.0"})
    return AWSResponse(request.url, status, headers, _RawBody(body.encode()))


class _RawBody(io.BytesIO):
    """A response body like urllib3's."""

    def stream(self, **_: Any) -> Iterator[bytes]:
        yield self.read()
