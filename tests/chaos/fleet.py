"""Lambda, as far as it matters: environments that take one invocation at a time, and are replaced when they die."""

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

from chaos.event_log import diary_of, log_of
from chaos.fault_plan import Dice, Order

FROZEN = (2.0, 9.0)  # seconds; a lease is 5
PATIENCE = 3.0  # seconds past its time until an invocation is cut off, as Lambda does
THAWING = 12.0  # seconds that one gets which was frozen past its time
STARTING = 30.0


class Struck:
    """The faults that really came about, by name."""

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
    line: "Connection[Any, Any]"
    struck: Struck
    dice: Dice

    def invoke(self, event: dict[str, Any], seconds: float, order: Order | None) -> Any:
        """The handler's answer. Raises EOFError or OSError where the process died of it."""
        self.line.send((event, seconds, order))
        end = time.monotonic() + seconds + PATIENCE
        if order is not None and order.moment and not self.line.poll(order.moment):
            self.struck.count(str(order))
            end += self._upset(order)
        while self.line.poll(max(0.0, end - time.monotonic())):
            what, answer, struck = self.line.recv()
            if what == "answer":
                if order is not None and struck and order.kind not in ("kill", "freeze"):
                    self.struck.count(str(order))
                return answer
            self.struck.count(str(order))
            if what == "frozen":
                end += self._thaw()
        self.struck.count("cut off at its time")
        os.kill(self.pid, signal.SIGKILL)
        raise EOFError

    def _upset(self, order: Order) -> float:
        os.kill(self.pid, signal.SIGKILL if order.kind == "kill" else signal.SIGSTOP)
        return self._thaw() if order.kind == "freeze" else 0.0

    def _thaw(self) -> float:
        """How many seconds the invocation may be late for it."""
        seconds = self.dice.of("frozen", self.number).uniform(*FROZEN)
        time.sleep(seconds)
        os.kill(self.pid, signal.SIGCONT)
        return seconds + THAWING


@dataclass
class Fleet:
    """`most` environments. A context manager. Of `made` processes so far `skewed` had a clock that was wrong."""

    most: int
    folder: Path
    dice: Dice
    struck: Struck
    environment: dict[str, str]
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _free: "queue.Queue[Environment]" = field(default_factory=queue.Queue)
    made: int = 0
    skewed: int = 0

    def __enter__(self) -> Self:
        self._listener = Listener(family="AF_UNIX", backlog=self.most)
        place = str(self._listener.address)
        command = [sys.executable, "-m", "chaos.worker", place, str(diary_of(self.folder))]
        with log_of(self.folder).open("ab") as log:
            self._mother = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=log, stderr=log, env=self.environment, text=True
            )
        for _ in range(self.most):
            self._free.put(self._new())
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        for _ in range(self.most):
            with contextlib.suppress(OSError):
                os.kill(self._free.get(timeout=60).pid, signal.SIGKILL)
        self._mother.communicate()
        self._listener.close()

    def invoke(self, event: dict[str, Any], seconds: float, order: Order | None = None) -> Any:
        """The handler's answer; None where the environment died."""
        environment = self._free.get()
        try:
            return environment.invoke(event, seconds, order)
        except (EOFError, OSError):
            environment.line.close()
            environment = self._new()
            return None
        finally:
            self._free.put(environment)

    def _new(self) -> Environment:
        assert self._mother.stdin is not None
        with self._lock:
            number = self.made
            skew = self.dice.skew(number)
            self._mother.stdin.write(f"{number} {skew}\n")
            self._mother.stdin.flush()
            self.made += 1
            self.skewed += skew != 0
            line: Any = self._listener.accept()
        pid = line.recv()
        if not line.poll(STARTING):
            raise RuntimeError("an environment did not start; see the log")
        line.recv()
        return Environment(number, pid, line, self.struck, self.dice)
