"""A clock that stands still while anything works, and jumps to the next timer when everything waits.

It replaces `time.monotonic` and the clocks of event loops. A pause of an hour takes no time, and a slow machine misses
no deadline. The clock stands while a thread works or a socket is open. It is for tests that play on one event loop: of
several, one would skip the time that another one needs.
"""

import asyncio
import selectors
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

LOOK_SECONDS = 0.05  # between two looks whether a thread still works


class Clock:
    """`monotonic` stands for `time.monotonic`."""

    def __init__(self) -> None:
        self._now = time.monotonic()
        self._calls = 0  # in executors
        self._before = set(threading.enumerate())

    def monotonic(self) -> float:
        return self._now

    def skip(self, seconds: float) -> None:
        self._now += seconds

    @property
    def busy(self) -> bool:
        """Whether a thread works: a call in an executor, or a thread of a tool."""
        threads = set(threading.enumerate()) - self._before
        return self._calls > 0 or any(not thread.name.startswith("asyncio_") for thread in threads)

    def counted(self, future: "asyncio.Future[Any]") -> "asyncio.Future[Any]":
        self._calls += 1
        future.add_done_callback(self._count_down)
        return future

    def _count_down(self, _: object) -> None:
        self._calls -= 1


@contextmanager
def skipped_time() -> Iterator[Clock]:
    clock = Clock()

    class Selector(selectors.DefaultSelector):
        def select(self, timeout: float | None = None) -> Any:
            if timeout is None or timeout <= 0:
                return super().select(timeout)
            if clock.busy or len(self.get_map()) > 1:  # the loop has one of its own, by which threads wake it
                return super().select(min(timeout, LOOK_SECONDS))
            ready = super().select(0)
            if not ready:
                clock.skip(timeout)
            return ready

    in_executor = asyncio.BaseEventLoop.run_in_executor

    def run_in_executor(loop: Any, *arguments: Any) -> Any:
        return clock.counted(in_executor(loop, *arguments))

    with (
        patch.object(time, "monotonic", clock.monotonic),
        patch.object(selectors, "DefaultSelector", Selector),
        patch.object(asyncio.BaseEventLoop, "run_in_executor", run_in_executor),
    ):
        yield clock
