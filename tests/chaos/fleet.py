"""A Lambda function's environments: each takes one invocation at a time and is replaced when it dies."""

import contextlib
import os
import queue
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, Listener
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from chaos.event_log import agent_log_path, event_log_path
from chaos.fault_plan import Fault, FaultPlan

FREEZE_SECONDS = (2.0, 9.0)  # seconds; a lease is 5
TIMEOUT_MARGIN_SECONDS = 3.0  # seconds after its timeout until an invocation is killed, as on Lambda
THAW_MARGIN_SECONDS = 12.0  # extra seconds for an invocation that was frozen
START_TIMEOUT_SECONDS = 30.0


class FaultCounter:
    """Counts the faults that were injected, by name."""

    def __init__(self) -> None:
        self.by_name: Counter[str] = Counter()
        self._lock = threading.Lock()

    def count(self, name: str) -> None:
        with self._lock:
            self.by_name[name] += 1

    @property
    def total(self) -> int:
        return sum(self.by_name.values())


@dataclass
class Environment:
    number: int
    pid: int
    connection: "Connection[Any, Any]"
    fault_counts: FaultCounter
    fault_plan: FaultPlan

    def invoke(self, event: dict[str, Any], seconds: float, fault: Fault | None) -> Any:
        """The handler's answer. Raises EOFError or OSError if the process dies."""
        self.connection.send((event, seconds, fault))
        end = time.monotonic() + seconds + TIMEOUT_MARGIN_SECONDS
        if fault is not None and fault.after_seconds and not self.connection.poll(fault.after_seconds):
            self.fault_counts.count(str(fault))
            end += self._signal(fault)
        while self.connection.poll(max(0.0, end - time.monotonic())):
            what, answer, injected = self.connection.recv()
            if what == "answer":
                if fault is not None and injected and fault.kind not in ("kill", "freeze"):
                    self.fault_counts.count(str(fault))
                return answer
            self.fault_counts.count(str(fault))
            if what == "frozen":
                end += self._thaw()
        self.fault_counts.count("cut off at its time")
        os.kill(self.pid, signal.SIGKILL)
        raise EOFError

    def _signal(self, fault: Fault) -> float:
        os.kill(self.pid, signal.SIGKILL if fault.kind == "kill" else signal.SIGSTOP)
        return self._thaw() if fault.kind == "freeze" else 0.0

    def _thaw(self) -> float:
        """Resumes the process. Returns the seconds by which the invocation may be late."""
        seconds = self.fault_plan.random_for("frozen", self.number).uniform(*FREEZE_SECONDS)
        time.sleep(seconds)
        os.kill(self.pid, signal.SIGCONT)
        return seconds + THAW_MARGIN_SECONDS


@dataclass
class Fleet:
    """A context manager with `size` environments. `skewed_count` of the `process_count` processes had a wrong clock."""

    size: int
    folder: Path
    fault_plan: FaultPlan
    fault_counts: FaultCounter
    environment: dict[str, str]
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _free: "queue.Queue[Environment]" = field(default_factory=queue.Queue)
    process_count: int = 0
    skewed_count: int = 0

    def __enter__(self) -> Self:
        self._listener = Listener(family="AF_UNIX", backlog=self.size)
        place = str(self._listener.address)
        command = [sys.executable, "-m", "chaos.worker", place, str(event_log_path(self.folder))]
        with agent_log_path(self.folder).open("ab") as log:
            self._mother = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=log, stderr=log, env=self.environment, text=True
            )
        for _ in range(self.size):
            self._free.put(self._start_environment())
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        for _ in range(self.size):
            with contextlib.suppress(OSError):
                os.kill(self._free.get(timeout=60).pid, signal.SIGKILL)
        self._mother.communicate()
        self._listener.close()

    def invoke(self, event: dict[str, Any], seconds: float, fault: Fault | None = None) -> Any:
        """The handler's answer, None if the environment died."""
        environment = self._free.get()
        try:
            return environment.invoke(event, seconds, fault)
        except (EOFError, OSError):
            environment.connection.close()
            environment = self._start_environment()
            return None
        finally:
            self._free.put(environment)

    def _start_environment(self) -> Environment:
        assert self._mother.stdin is not None
        with self._lock:
            number = self.process_count
            skew = self.fault_plan.skew(number)
            self._mother.stdin.write(f"{number} {skew}\n")
            self._mother.stdin.flush()
            self.process_count += 1
            self.skewed_count += skew != 0
            line: Any = self._listener.accept()
        pid = line.recv()
        if not line.poll(START_TIMEOUT_SECONDS):
            raise RuntimeError("an environment did not start; see the log")
        line.recv()
        return Environment(number, pid, line, self.fault_counts, self.fault_plan)
