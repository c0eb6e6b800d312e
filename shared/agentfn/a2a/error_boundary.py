"""What a client may see of an error."""

from types import TracebackType

from a2a.server.context import ServerCallContext
from a2a.utils.errors import A2AError, InternalError

from agentfn.telemetry import logger


class hide_internal_errors:  # noqa: N801 - reads as what it does
    """Lets the protocol's own errors through. Of any other the client gets a reference, and the log the rest."""

    def __init__(self, context: ServerCallContext) -> None:
        self._context = context

    async def __aenter__(self) -> None:
        return None

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if not isinstance(error, Exception) or isinstance(error, A2AError):
            return
        reference = getattr(self._context.state.get("lambda"), "aws_request_id", "unknown")
        logger.error("request failed", exc_info=error, request=reference)
        raise InternalError(f"Internal error (request {reference})") from error
