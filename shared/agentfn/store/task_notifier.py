"""Tells whoever waits in this process that a task was written to: it looks at once instead of when it is time again."""

import asyncio


class TaskNotifier:
    def __init__(self) -> None:
        self._waiters: dict[str, set[asyncio.Event]] = {}

    def notify(self, task_id: str) -> None:
        for event in self._waiters.get(task_id, ()):
            event.set()

    async def wait(self, task_id: str, seconds: float) -> None:
        """Returns when it rings for that name, or after so many seconds."""
        event = asyncio.Event()
        waiting = self._waiters.setdefault(task_id, set())
        waiting.add(event)
        try:
            async with asyncio.timeout(seconds):
                await event.wait()
        except TimeoutError:
            pass
        finally:
            waiting.discard(event)
            if not waiting:
                self._waiters.pop(task_id, None)
