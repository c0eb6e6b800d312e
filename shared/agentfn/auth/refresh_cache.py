"""A cache for one value that is read from outside and changes rarely: tokens, signing keys, a key set."""

import asyncio
import math
import time
from collections.abc import Callable

from agentfn.errors import AgentfnError
from agentfn.telemetry import logger

MAX_AGE_SECONDS = 300.0
MIN_REFRESH_SECONDS = 30.0


class RefreshCache[Value]:
    """Reads the value when it is first needed, and again when it is older than MAX_AGE_SECONDS.

    `read` may block; it runs in a thread. If a later read fails, the cached value stays in use and the failure is
    logged. `description` names the value in that log line.
    """

    def __init__(
        self, read: Callable[[], Value], description: str, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._read = read
        self._description = description
        self._clock = clock
        self._value: Value | None = None
        self._read_at = -math.inf

    async def get(self) -> Value:
        """Returns the value. Raises what `read` raises if there is no value yet."""
        if self._value is None or self._age() >= MAX_AGE_SECONDS:
            return await self._refresh()
        return self._value

    async def find[Found](self, lookup: Callable[[Value], Found | None]) -> Found | None:
        """Returns what `lookup` finds in the value.

        If it finds nothing, the value may be out of date: it is read again, at most every MIN_REFRESH_SECONDS. Raises
        what `read` raises if there is no value yet.
        """
        found = lookup(await self.get())
        if found is None and self._age() >= MIN_REFRESH_SECONDS:
            found = lookup(await self._refresh())
        return found

    def load(self) -> Value:
        """Reads the value now. Blocks, and raises what `read` raises."""
        self._read_at = self._clock()
        self._value = self._read()
        return self._value

    def _age(self) -> float:
        return self._clock() - self._read_at

    async def _refresh(self) -> Value:
        try:
            return await asyncio.to_thread(self.load)
        except AgentfnError:
            if self._value is None:
                raise
            logger.exception("could not refresh %s; the cached ones stay in use", self._description)
            return self._value
