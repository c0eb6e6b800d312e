"""The logger of agentfn, and a filter for the sdk's log lines."""

import logging

from aws_lambda_powertools import Logger

logger = Logger(service="agentfn", utc=True, log_uncaught_exceptions=False)

# They log the contents of rejected requests, which only the sender may see.
REQUEST_ERROR_LOGGERS = (
    "a2a.utils.error_handlers",
    "a2a.server.routes.jsonrpc_dispatcher",
    "a2a.compat.v0_3.jsonrpc_adapter",
)


def _is_server_error(record: logging.LogRecord) -> bool:
    """Whether the record is about an error of the server, and not of the request."""
    return bool(record.exc_info) and not record.msg.startswith("Failed to ")


for _name in REQUEST_ERROR_LOGGERS:
    logging.getLogger(_name).addFilter(_is_server_error)
