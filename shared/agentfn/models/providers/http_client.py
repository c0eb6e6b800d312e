"""The HTTP client of the models that call their provider directly. Its connections belong to one event loop.

A process has one loop for its whole life, so connections stay open between invocations. Call `close_clients` before a
loop ends.
"""

import asyncio
from asyncio import AbstractEventLoop
from collections.abc import AsyncGenerator, Callable, Hashable
from typing import Any
from weakref import WeakKeyDictionary

MAX_TIMEOUT_SECONDS = 900.0  # the longest that Lambda allows: each model limits its own calls
CONNECT_TIMEOUT_SECONDS = 10.0  # an address where no server answers is noticed sooner
KEEPALIVE_SECONDS = 60.0  # a connection that was idle for longer may be dead without a sign

_clients_by_loop: WeakKeyDictionary[AbstractEventLoop, dict[Hashable, Any]] = WeakKeyDictionary()


def shared_client() -> Any:
    """The running loop's `httpx.AsyncClient`."""
    return get_or_create("http", _create_client)


def get_or_create(key: Hashable, create: Callable[[], Any]) -> Any:
    """The running loop's object under this key, created where there is none yet."""
    clients = _clients_by_loop.setdefault(asyncio.get_running_loop(), {})
    if key not in clients:
        clients[key] = create()
    return clients[key]


async def close_clients() -> None:
    """Closes the running loop's connections. The next request opens new ones."""
    client = _clients_by_loop.pop(asyncio.get_running_loop(), {}).get("http")
    if client is not None:
        await client.aclose()


async def iter_body(response: Any) -> AsyncGenerator[bytes]:
    """The body in the pieces in which it arrives. A caller that stops reading closes this generator.

    A task reads the body, because only a cancel ends all the generators below at once: the event loop ends those that
    are merely dropped later, each in a task.
    """
    pieces: asyncio.Queue[bytes | None] = asyncio.Queue()

    async def read() -> None:
        async for piece in response.aiter_bytes():
            pieces.put_nowait(piece)

    reader = asyncio.ensure_future(read())
    reader.add_done_callback(lambda _: pieces.put_nowait(None))
    try:
        while (piece := await pieces.get()) is not None:
            yield piece
        await reader  # raises the error that ended it
    finally:
        reader.cancel()
        await asyncio.wait([reader])
        _ = reader.cancelled() or reader.exception()  # raised above, or no longer needed
        await response.aclose()


def _create_client() -> Any:
    import httpx

    timeout = httpx.Timeout(MAX_TIMEOUT_SECONDS, connect=CONNECT_TIMEOUT_SECONDS)
    limits = httpx.Limits(max_connections=None, max_keepalive_connections=20, keepalive_expiry=KEEPALIVE_SECONDS)
    return httpx.AsyncClient(timeout=timeout, limits=limits, follow_redirects=True)
