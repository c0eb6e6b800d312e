"""Event after event, for as long as the process lives."""

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
    """`handler` is a function, or one that has `stream`, as those made by `serve` do."""

    def __init__(self, api: RuntimeApi, handler: Any) -> None:
        self._api = api
        self._handler = handler

    def run(self) -> None:
        while True:
            self.handle(self._api.next_invocation())

    def handle(self, invocation: Invocation) -> None:
        """Whatever the handler does, the event gets an answer or an error, and the process goes on."""
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
        """Raises Fault for what broke before anything was sent."""
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
    """Decimals, which boto3 gives for DynamoDB's numbers, are numbers."""
    if not isinstance(value, Decimal):
        raise TypeError(f"Object of type {type(value).__name__} is not JSON serializable")
    return int(value) if value == value.to_integral_value() else float(value)


def _set_trace_id(invocation: Invocation) -> None:
    """Where X-Ray's clients look for it."""
    if told := invocation.headers.get("lambda-runtime-trace-id"):
        os.environ[TRACE_ID_VARIABLE] = told
    else:
        os.environ.pop(TRACE_ID_VARIABLE, None)


def _log_fault(fault: Fault) -> None:
    logger.error("the handler failed: %s: %s", fault.kind, fault, exc_info=fault.__cause__ or fault)
