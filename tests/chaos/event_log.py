"""The event log of a run: append-only files. A line is one write, so a killed process leaves no partial line."""

import json
import os
import time
from pathlib import Path
from typing import Any

LogEntry = dict[str, Any]


class EventLog:
    """Writes events from any thread of any process. Times are the machine's, not those of skewed processes."""

    def __init__(self, path: Path) -> None:
        self._file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)

    def write(self, kind: str, **said: Any) -> None:
        line = {"at": _clock(), "pid": os.getpid(), "kind": kind, **said}
        os.write(self._file, json.dumps(line).encode() + b"\n")


_clock = time.time  # before a process skews it


def event_log_path(folder: Path) -> Path:
    return folder / "event-log"


def read_event_log(folder: Path) -> list[LogEntry]:
    return [json.loads(line) for line in event_log_path(folder).read_text().splitlines()]


def read_agent_log(folder: Path) -> list[str]:
    return agent_log_path(folder).read_text().splitlines()


def agent_log_path(folder: Path) -> Path:
    """The agent's log, of all processes together."""
    return folder / "log"
