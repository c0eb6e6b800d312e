"""The direct doors' connections, which belong to the event loop that they were opened on.

A process has one loop for its whole life, so they stay warm from one invocation to the next. Whoever ends a loop before
the process ends calls `close` on it first.
"""

import asyncio
from asyncio import AbstractEventLoop
from collections.abc import AsyncGenerator, Callable, Hashable
from typing import Any
from weakref import WeakKeyDictionary

MAX_TIMEOUT_SECONDS = 900.0  # seconds, the longest that Lambda allows: doors keep the time of each call themselves
CONNECT_TIMEOUT_SECONDS = 10.0  # an address where nobody answers is known sooner than that
KEEPALIVE_SECONDS = 60.0  # a connection that waited for longer may be dead, and nobody told us

_clients_by_loop: WeakKeyDictionary[AbstractEventLoop, dict[Hashable, Any]] = WeakKeyDictionary()


def shared_client() -> Any:
    """The running loop's `httpx.AsyncClient`."""
    return get_or_create("http", _create_client)


def get_or_create(key: Hashable, make: Callable[[], Any]) -> Any:
    """What the running loop has under this key, made where it has nothing yet."""
    own = _clients_by_loop.setdefault(asyncio.get_running_loop(), {})
    if key not in own:
        own[key] = make()
    return own[key]


async def close_clients() -> None:
    """Ends the running loop's connections. The next question opens new ones."""
    client = _clients_by_loop.pop(asyncio.get_running_loop(), {}).get("http")
    if client is not None:
        await client.aclose()


async def iter_body(response: Any) -> AsyncGenerator[bytes]:
    """The body as it comes. Whoever stops reading closes this generator.

    A task does the reading, because a cancel, and nothing else, ends all the generators beneath at once: each of those
    that are just left is ended later, in a task of its own.
    """
    arrived: asyncio.Queue[bytes | None] = asyncio.Queue()

    async def read() -> None:
        async for piece in response.aiter_bytes():
            arrived.put_nowait(piece)

    reading = asyncio.ensure_future(read())
    reading.add_done_callback(lambda _: arrived.put_nowait(None))
    try:
        while (piece := await arrived.get()) is not None:
            yield piece
        await reading  # raises what broke it
    finally:
        reading.cancel()
        await asyncio.wait([reading])
        _ = reading.cancelled() or reading.exception()  # told above, or of no interest any more
        await response.aclose()


def _create_client() -> Any:
    import httpx

    limits = httpx.Limits(max_connections=None, max_keepalive_connections=20, keepalive_expiry=KEEPALIVE_SECONDS)
    return httpx.AsyncClient(
        timeout=httpx.Timeout(MAX_TIMEOUT_SECONDS, connect=CONNECT_TIMEOUT_SECONDS),
        limits=limits,
        follow_redirects=True,
    )
