"""Event after event, for as long as the process lives."""

import json
import os
from decimal import Decimal
from typing import Any

from agentfn.event_sources.api_gateway import is_http
from agentfn.runtime.fault import Fault, faults
from agentfn.runtime.invocation import Invocation
from agentfn.runtime.runtime_api import RuntimeApi
from agentfn.telemetry import logger

TRACE = "_X_AMZN_TRACE_ID"


class RuntimeLoop:
    """`handler` is a function, or one that has `stream`, as those made by `serve` do."""

    def __init__(self, api: RuntimeApi, handler: Any) -> None:
        self._api = api
        self._handler = handler

    def run(self) -> None:
        while True:
            self.serve(self._api.next())

    def serve(self, invocation: Invocation) -> None:
        """Whatever the handler does, the event gets an answer or an error, and the process goes on."""
        _trace(invocation)
        logger.append_keys(function_request_id=invocation.id)
        try:
            event, context = invocation.event(), invocation.context()
            if _is_request(event) and hasattr(self._handler, "stream"):
                self._stream(invocation, event, context)
            else:
                self._answer(invocation, event, context)
        except Fault as fault:
            _log(fault)
            self._api.fail(invocation, fault)

    def _answer(self, invocation: Invocation, event: Any, context: Any) -> None:
        with faults():
            answer = self._handler(event, context)
        if isinstance(answer, bytes):
            self._api.answer(invocation, answer, "application/unknown")
        else:
            self._api.answer(invocation, _encoded(answer))

    def _stream(self, invocation: Invocation, event: Any, context: Any) -> None:
        """Raises Fault for what broke before anything was sent."""
        answer = self._api.streamed(invocation)
        try:
            with faults():
                self._handler.stream(event, context, answer.send)
        except Fault as fault:
            if not answer.begun:
                raise
            _log(fault)
            answer.end(fault)
            return
        if not answer.begun:
            raise Fault("Runtime.NoResponse", "the handler ended without an answer")
        answer.end()


def _is_request(event: Any) -> bool:
    return isinstance(event, dict) and is_http(event)


def _encoded(answer: Any) -> bytes:
    with faults("Runtime.MarshalError", "Unable to marshal response: "):
        return json.dumps(answer, ensure_ascii=False, default=_number).encode()


def _number(value: Any) -> Any:
    """Decimals, which boto3 gives for DynamoDB's numbers, are numbers."""
    if not isinstance(value, Decimal):
        raise TypeError(f"Object of type {type(value).__name__} is not JSON serializable")
    return int(value) if value == value.to_integral_value() else float(value)


def _trace(invocation: Invocation) -> None:
    """Where X-Ray's clients look for it."""
    if told := invocation.headers.get("lambda-runtime-trace-id"):
        os.environ[TRACE] = told
    else:
        os.environ.pop(TRACE, None)


def _log(fault: Fault) -> None:
    logger.error("the handler failed: %s: %s", fault.kind, fault, exc_info=fault.__cause__ or fault)
