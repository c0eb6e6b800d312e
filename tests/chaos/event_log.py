"""What really happened, in append-only files: a line is written in one call, so that a killed process leaves none half.

It outlives the process that wrote it, though not the machine, which nobody kills here.
"""

import json
import os
import time
from pathlib import Path
from typing import Any

Line = dict[str, Any]


class Diary:
    """`write` may be called from any thread of any process. Times are the machine's, whatever a process believes."""

    def __init__(self, path: Path) -> None:
        self._file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)

    def write(self, kind: str, **said: Any) -> None:
        line = {"at": _clock(), "pid": os.getpid(), "kind": kind, **said}
        os.write(self._file, json.dumps(line).encode() + b"\n")


_clock = time.time  # before anybody turns it


def diary_of(folder: Path) -> Path:
    return folder / "diary"


def read_diary(folder: Path) -> list[Line]:
    return [json.loads(line) for line in diary_of(folder).read_text().splitlines()]


def read_log(folder: Path) -> list[str]:
    return log_of(folder).read_text().splitlines()


def log_of(folder: Path) -> Path:
    """What the agent logged, all processes together."""
    return folder / "log"
