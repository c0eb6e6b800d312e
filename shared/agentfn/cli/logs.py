"""Formats the agent's log lines as text; on Lambda they are JSON."""

import logging
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from unittest.mock import patch

STANDARD_ATTRIBUTES = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "service", "taskName"}


class ReadableFormatter(logging.Formatter):
    """`12:00:01 INFO run started  run=1 task_id=...`. With `short`, without time and traceback."""

    def __init__(self, short: bool) -> None:
        super().__init__("%(levelname)s %(message)s" if short else "%(asctime)s %(levelname)s %(message)s", "%H:%M:%S")
        self._short = short

    def format(self, record: logging.LogRecord) -> str:
        if self._short:
            record = logging.makeLogRecord(vars(record) | {"exc_info": None, "exc_text": None, "stack_info": None})
        extra = "  ".join(f"{name}={value}" for name, value in vars(record).items() if name not in STANDARD_ATTRIBUTES)
        head, line, rest = super().format(record).partition("\n")
        return f"{head}  {extra}".rstrip() + line + rest


@contextmanager
def readable_logs(level: int, *, file: Path | None = None, short: bool = False) -> Iterator[None]:
    """Logs to standard error from `level` up, and everything to `file` if there is one."""
    log = logging.getLogger("agentfn")
    with ExitStack() as stack:
        screen = logging.StreamHandler(sys.stderr)
        screen.setLevel(level)
        screen.setFormatter(ReadableFormatter(short))
        handlers: list[logging.Handler] = [screen]
        if file is not None:
            written = logging.FileHandler(file, mode="w", encoding="utf-8")
            written.setFormatter(ReadableFormatter(short=False))
            stack.callback(written.close)
            handlers.append(written)
        stack.enter_context(patch.object(log, "handlers", handlers))
        stack.callback(log.setLevel, log.level)
        log.setLevel(logging.INFO)
        yield
