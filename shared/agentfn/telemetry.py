"""The one logger, and how a line about a task looks."""

import logging

from aws_lambda_powertools import Logger

logger = Logger(service="agentfn", utc=True, log_uncaught_exceptions=False)

# These say of a request that they refuse what was in it, which is for its sender alone.
REQUEST_ERROR_LOGGERS = (
    "a2a.utils.error_handlers",
    "a2a.server.routes.jsonrpc_dispatcher",
    "a2a.compat.v0_3.jsonrpc_adapter",
)


def _is_server_error(record: logging.LogRecord) -> bool:
    """Whether it is about a fault of ours, and not about one of the request's."""
    return bool(record.exc_info) and not record.msg.startswith("Failed to ")


for _name in REQUEST_ERROR_LOGGERS:
    logging.getLogger(_name).addFilter(_is_server_error)
