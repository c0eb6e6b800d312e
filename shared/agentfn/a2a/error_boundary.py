"""Hides internal errors from clients."""

from types import TracebackType

from a2a.utils.errors import A2AError, InternalError

from agentfn.call_context import CallContext
from agentfn.telemetry import logger


class hide_internal_errors:  # noqa: N801 - an async context manager, used like a function
    """Lets the protocol's errors through. Logs any other, and raises InternalError with the request's id instead."""

    def __init__(self, call: CallContext) -> None:
        self._call = call

    async def __aenter__(self) -> None:
        return None

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if not isinstance(error, Exception) or isinstance(error, A2AError):
            return
        request_id = self._call.request_id
        logger.error("request failed", exc_info=error, request=request_id)
        raise InternalError(f"Internal error (request {request_id})") from error
