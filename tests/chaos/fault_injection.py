"""The named points of a worker process, and what happens there: around each call of AWS, each effect and answer."""

import io
import os
import signal
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from botocore.awsrequest import AWSResponse, HeadersDict
from botocore.exceptions import ConnectionClosedError, EndpointConnectionError

from chaos.fault_plan import Order

Tell = Callable[[str], None]

ERRORS = {
    "throttle": {"dynamodb": "ThrottlingException", "sqs": "RequestThrottled", "s3": "SlowDown"},
    "fail": {"dynamodb": "InternalServerError", "sqs": "InternalError", "s3": "InternalError"},
}
BODIES = {
    "json": '{{"__type": "chaos#{code}", "message": "by order"}}',
    "xml": "<Error><Code>{code}</Code><Message>by order</Message></Error>",
}
CONFLICT = '{"__type": "chaos#TransactionCanceledException", "CancellationReasons": [{"Code": "TransactionConflict"}]}'


@dataclass
class Points:
    """Carries out at most one order in each invocation. `tell` reaches the parent, before this process stops."""

    tell: Tell
    order: Order | None = None
    struck: bool = False
    _passed: int = 0
    _refused: str = ""  # the call whose repetitions are refused too
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def begin(self, order: Order | None) -> None:
        with self._lock:
            self.order, self.struck, self._passed, self._refused = order, False, 0, ""

    def attach(self, client: Any) -> None:
        service, session = client.meta.service_model.service_name, client._endpoint.http_session

        def before_send(request: Any, event_name: str, **_: Any) -> AWSResponse | None:
            return self._send(service, session, request, event_name.rsplit(".", 1)[-1])

        client.meta.events.register(f"before-send.{client.meta.service_model.service_id.hyphenize()}", before_send)

    def come_by(self, point: str) -> None:
        """A point that only kills and freezes are ordered at."""
        if self._due(point):
            self._stop()

    def _send(self, service: str, session: Any, request: Any, call: str) -> AWSResponse | None:
        """The answer to give in the place of the real one, if it is this call's turn."""
        attempt = str(request.headers.get("amz-sdk-invocation-id"))
        if attempt == self._refused:
            return self._refuse(service, request)
        if self._due(f"before {call}"):
            return self._upset(service, session, request, attempt)
        if self._due(f"after {call}"):
            session.send(request)
            self._stop()
        return None

    def _upset(self, service: str, session: Any, request: Any, attempt: str) -> AWSResponse | None:
        kind = self.order.kind if self.order else ""
        match kind:
            case "kill" | "freeze":
                self._stop()
                return None
            case "throttle":
                return _error(service, request, "throttle")
            case "conflict":
                return _answer(request, 400, CONFLICT)
            case "fail" | "part":
                self._refused = attempt
                return self._refuse(service, request)
        self._refused = attempt if kind == "lose and fail" else ""
        session.send(request)
        raise ConnectionClosedError(endpoint_url=request.url)

    def _refuse(self, service: str, request: Any) -> AWSResponse:
        if self.order is not None and self.order.kind == "part":
            raise EndpointConnectionError(endpoint_url=request.url)
        return _error(service, request, "fail")

    def _due(self, point: str) -> bool:
        with self._lock:
            if self.order is None or self.struck or self.order.point != point:
                return False
            self._passed += 1
            self.struck = self._passed == self.order.count
            return self.struck

    def _stop(self) -> None:
        assert self.order is not None
        self.tell("frozen" if self.order.kind == "freeze" else "killed")
        os.kill(os.getpid(), signal.SIGSTOP if self.order.kind == "freeze" else signal.SIGKILL)


def _error(service: str, request: Any, kind: str) -> AWSResponse:
    code = ERRORS[kind][service]
    status = 500 if kind == "fail" else 503 if service == "s3" else 400
    return _answer(request, status, BODIES["xml" if service == "s3" else "json"].format(code=code))


def _answer(request: Any, status: int, body: str) -> AWSResponse:
    headers: Any = HeadersDict({"content-type": "application/x-amz-json-1.0"})
    return AWSResponse(request.url, status, headers, _Raw(body.encode()))


class _Raw(io.BytesIO):
    """A body as urllib3 gives it."""

    def stream(self, **_: Any) -> Iterator[bytes]:
        yield self.read()
