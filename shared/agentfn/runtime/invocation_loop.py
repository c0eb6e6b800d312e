"""The loop that handles one event after the other."""

import json
import os
from decimal import Decimal
from typing import Any

from agentfn.event_sources.api_gateway_event import is_api_gateway_event
from agentfn.runtime.fault import Fault, map_to_fault
from agentfn.runtime.invocation import Invocation
from agentfn.runtime.runtime_api import RuntimeApi
from agentfn.telemetry import logger

TRACE_ID_VARIABLE = "_X_AMZN_TRACE_ID"


class InvocationLoop:
    """`handler` is a function. If it has a method `stream`, as those of `serve` do, HTTP responses are streamed."""

    def __init__(self, api: RuntimeApi, handler: Any) -> None:
        self._api = api
        self._handler = handler

    def run(self) -> None:
        while True:
            self.handle(self._api.next_invocation())

    def handle(self, invocation: Invocation) -> None:
        """Sends a response or an error for the event, whatever the handler does."""
        _set_trace_id(invocation)
        logger.append_keys(function_request_id=invocation.id)
        try:
            event, context = invocation.event(), invocation.context()
            if _is_http_event(event) and hasattr(self._handler, "stream"):
                self._invoke_streaming(invocation, event, context)
            else:
                self._invoke(invocation, event, context)
        except Fault as fault:
            _log_fault(fault)
            self._api.report_error(invocation, fault)

    def _invoke(self, invocation: Invocation, event: Any, context: Any) -> None:
        with map_to_fault():
            answer = self._handler(event, context)
        if isinstance(answer, bytes):
            self._api.send_response(invocation, answer, "application/unknown")
        else:
            self._api.send_response(invocation, _encode_response(answer))

    def _invoke_streaming(self, invocation: Invocation, event: Any, context: Any) -> None:
        """Raises Fault for an error before the response started. A later error ends the stream."""
        answer = self._api.streaming_response(invocation)
        try:
            with map_to_fault():
                self._handler.stream(event, context, answer.send)
        except Fault as fault:
            if not answer.started:
                raise
            _log_fault(fault)
            answer.end(fault)
            return
        if not answer.started:
            raise Fault("Runtime.NoResponse", "the handler returned without a response")
        answer.end()


def _is_http_event(event: Any) -> bool:
    return isinstance(event, dict) and is_api_gateway_event(event)


def _encode_response(answer: Any) -> bytes:
    with map_to_fault("Runtime.MarshalError", "Unable to marshal response: "):
        return json.dumps(answer, ensure_ascii=False, default=_encode_decimal).encode()


def _encode_decimal(value: Any) -> Any:
    """Encodes Decimals, which boto3 returns for DynamoDB's numbers, as JSON numbers."""
    if not isinstance(value, Decimal):
        raise TypeError(f"Object of type {type(value).__name__} is not JSON serializable")
    return int(value) if value == value.to_integral_value() else float(value)


def _set_trace_id(invocation: Invocation) -> None:
    """Sets the environment variable that X-Ray's clients read."""
    if told := invocation.headers.get("lambda-runtime-trace-id"):
        os.environ[TRACE_ID_VARIABLE] = told
    else:
        os.environ.pop(TRACE_ID_VARIABLE, None)


def _log_fault(fault: Fault) -> None:
    logger.error("the handler failed: %s: %s", fault.kind, fault, exc_info=fault.__cause__ or fault)
