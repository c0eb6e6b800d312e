"""Lambda's execution environments as threads, each with one handler, one event loop and one invocation at a time."""

import asyncio
import contextlib
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import Any

from agentfn.local.lambda_events import LocalLambdaContext

Handler = Callable[[dict[str, Any], Any], Any]

STOP_TIMEOUT_SECONDS = 5.0  # time for an invocation to notice its cancellation
CANCEL_INTERVAL_SECONDS = 0.1  # between two attempts to cancel it


class ExecutionEnvironments:
    """Creates an environment when all others are busy, up to `most`; past that, invocations wait for one.

    `make` is called in the new environment's thread. `seconds` is the timeout of an invocation.
    """

    def __init__(self, create_handler: Callable[[], Handler], *, max_count: int, seconds: float) -> None:
        self._create_handler = create_handler
        self._seconds = seconds
        self._thread_local = threading.local()
        self._pool = ThreadPoolExecutor(max_count, thread_name_prefix="environment")
        self._environments: list[tuple[Handler, asyncio.AbstractEventLoop]] = []
        self._running: set[Future[Any]] = set()

    def start(self) -> None:
        """Creates the first environment. Raises the error of its creation."""
        self._pool.submit(self._get_handler).result()

    def invoke(self, event: dict[str, Any]) -> Future[Any]:
        """Raises RuntimeError once this is closed."""
        return self.submit(lambda handler, context: handler(event, context))

    def submit(self, work: Callable[[Handler, LocalLambdaContext], Any]) -> Future[Any]:
        """Calls `work` with a handler and a context, as one invocation."""
        future = self._pool.submit(lambda: work(self._get_handler(), LocalLambdaContext(self._seconds)))
        self._running.add(future)
        future.add_done_callback(self._running.discard)
        return future

    def close(self) -> None:
        """Cancels running invocations, as when Lambda loses a machine, and closes the event loops."""
        self._pool.shutdown(wait=False, cancel_futures=True)
        end = time.monotonic() + STOP_TIMEOUT_SECONDS
        while (running := list(self._running)) and time.monotonic() < end:
            for _, loop in self._environments:
                with contextlib.suppress(RuntimeError):  # closed by its owner
                    loop.call_soon_threadsafe(self._cancel_tasks, loop)
            wait(running, CANCEL_INTERVAL_SECONDS)
        self._pool.shutdown(wait=not self._running)
        for handler, loop in self._environments:
            _close_loop(handler, loop)

    def _cancel_tasks(self, loop: asyncio.AbstractEventLoop) -> None:
        if not self._running:  # called too late: the loop is shutting down
            return
        for task in asyncio.all_tasks(loop):
            task.cancel()

    def _get_handler(self) -> Handler:
        if not hasattr(self._thread_local, "handler"):
            handler = self._create_handler()
            self._environments.append((handler, asyncio.get_event_loop()))  # set by the handler's constructor
            self._thread_local.handler = handler
        return self._thread_local.handler  # type: ignore[no-any-return]


def _close_loop(handler: Handler, loop: asyncio.AbstractEventLoop) -> None:
    if loop.is_running() or loop.is_closed():
        return
    loop.run_until_complete(loop.shutdown_default_executor())
    loop.close()
