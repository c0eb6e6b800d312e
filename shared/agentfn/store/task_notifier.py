"""Tells whoever waits in this process that a task was written to: it looks at once instead of when it is time again."""

import asyncio


class Bell:
    def __init__(self) -> None:
        self._waiting: dict[str, set[asyncio.Event]] = {}

    def ring(self, name: str) -> None:
        for event in self._waiting.get(name, ()):
            event.set()

    async def wait(self, name: str, seconds: float) -> None:
        """Returns when it rings for that name, or after so many seconds."""
        event = asyncio.Event()
        waiting = self._waiting.setdefault(name, set())
        waiting.add(event)
        try:
            async with asyncio.timeout(seconds):
                await event.wait()
        except TimeoutError:
            pass
        finally:
            waiting.discard(event)
            if not waiting:
                self._waiting.pop(name, None)
