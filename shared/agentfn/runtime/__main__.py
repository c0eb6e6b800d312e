"""Starts the runtime client: `python -m agentfn.runtime`, with the environment that Lambda sets."""

import logging
import os
import signal
import sys

from aws_lambda_powertools.logging.filters import SuppressFilter
from aws_lambda_powertools.logging.formatter import LambdaPowertoolsFormatter

from agentfn.runtime.fault import Fault
from agentfn.runtime.handler_loader import load_handler
from agentfn.runtime.invocation_loop import InvocationLoop
from agentfn.runtime.runtime_api import RuntimeApi
from agentfn.runtime.snapstart import run_snapshot_hooks
from agentfn.telemetry import logger


def main() -> int:
    signal.signal(signal.SIGTERM, lambda *_: os._exit(0))  # threads of tools would block a normal exit
    _log_to_stdout()
    root = os.environ.get("LAMBDA_TASK_ROOT", ".")
    if root not in sys.path:
        sys.path.insert(0, root)
    api = RuntimeApi(os.environ["AWS_LAMBDA_RUNTIME_API"])
    try:
        handler = load_handler(os.environ["_HANDLER"])
    except Fault as fault:
        logger.error("the function cannot start: %s: %s", fault.kind, fault, exc_info=fault.__cause__ or fault)
        api.report_init_error(fault)
        return 1
    if os.environ.get("AWS_LAMBDA_INITIALIZATION_TYPE") == "snap-start":
        run_snapshot_hooks(api)
    InvocationLoop(api, handler).run()
    return 0


def _log_to_stdout() -> None:
    """Logs JSON lines to stdout, line-buffered. agentfn's own logger already does, so its lines are filtered here."""
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(line_buffering=True)  # type: ignore[union-attr]
    handler = logging.StreamHandler(sys.stdout)
    handler.setFormatter(LambdaPowertoolsFormatter())
    handler.addFilter(SuppressFilter(logger.service))
    logging.getLogger().addHandler(handler)
    logging.getLogger().setLevel(os.environ.get("AWS_LAMBDA_LOG_LEVEL", "").replace("TRACE", "DEBUG") or "WARNING")


if __name__ == "__main__":
    sys.exit(main())
