"""Blocking functions off the event loop, each in a thread that nobody ever has to join."""

import asyncio
import contextlib
import contextvars
import threading
from collections.abc import Callable
from typing import Any

from agentfn.tools.tool_context import find_suspension


async def run_in_thread(function: Callable[[], Any], on_done: Callable[[], None] = lambda: None) -> Any:
    """Runs `function` in a daemon thread and returns what it returned.

    When the caller is cancelled the thread is left alone: Python cannot stop it. It runs on, its result goes nowhere,
    and an interpreter that wants to exit does not wait for it. `done` is called on the event loop when the thread
    really ended.
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
        except BaseException as error:  # noqa: BLE001 - handed on to whoever awaits
            failure = contain_exit(error)
        with contextlib.suppress(RuntimeError):  # the loop is closed: nobody waits any more
            loop.call_soon_threadsafe(settle, result, failure)

    context = contextvars.copy_context()
    try:
        threading.Thread(target=work, name=getattr(function, "__name__", "tool"), daemon=True).start()
    except RuntimeError:  # no more threads
        on_done()
        raise
    return await future


def contain_exit(error: BaseException) -> BaseException:
    """The error as one that ends a call and nothing else: SystemExit and its like would end the event loop.

    A Paused stays what it is, and comes out of what wraps it.
    """
    if paused := find_suspension(error):
        return paused
    if isinstance(error, Exception) and not isinstance(error, StopIteration):
        return error
    wrapped = RuntimeError(f"it raised {type(error).__name__}")
    wrapped.__cause__ = error
    return wrapped
