"""Execution of blocking functions in daemon threads, which never have to be joined."""

import asyncio
import contextlib
import contextvars
import threading
from collections.abc import Callable
from typing import Any

from agentfn.tools.tool_context import find_suspension


async def run_in_thread(function: Callable[[], Any], on_done: Callable[[], None] = lambda: None) -> Any:
    """Runs `function` in a daemon thread and returns its result.

    Python cannot stop a thread. When the caller is cancelled, the thread runs on, its result is dropped, and the
    interpreter does not wait for it at exit. `on_done` is called on the event loop when the thread has ended.
    """
    loop = asyncio.get_running_loop()
    future: asyncio.Future[Any] = loop.create_future()

    def settle(result: Any, error: BaseException | None) -> None:
        on_done()
        if future.done():
            return
        if error is None:
            future.set_result(result)
        else:
            future.set_exception(error)

    def work() -> None:
        result, failure = None, None
        try:
            result = context.run(function)
        except BaseException as error:  # noqa: BLE001 - raised again where the result is awaited
            failure = contain_exit(error)
        with contextlib.suppress(RuntimeError):  # the event loop is closed
            loop.call_soon_threadsafe(settle, result, failure)

    context = contextvars.copy_context()
    try:
        threading.Thread(target=work, name=getattr(function, "__name__", "tool"), daemon=True).start()
    except RuntimeError:  # no more threads
        on_done()
        raise
    return await future


def contain_exit(error: BaseException) -> BaseException:
    """The error as one that ends only the call: SystemExit and its like would end the event loop.

    A TaskSuspended is returned as it is, taken out of exception groups.
    """
    if suspension := find_suspension(error):
        return suspension
    if isinstance(error, Exception) and not isinstance(error, StopIteration):
        return error
    wrapped = RuntimeError(f"it raised {type(error).__name__}")
    wrapped.__cause__ = error
    return wrapped
