"""Notifies the requests of this process that wait for a task when the process has written to that task."""

import asyncio


class TaskNotifier:
    def __init__(self) -> None:
        self._waiters: dict[str, set[asyncio.Event]] = {}

    def notify(self, task_id: str) -> None:
        for event in self._waiters.get(task_id, ()):
            event.set()

    async def wait(self, task_id: str, seconds: float) -> None:
        """Returns when the task is notified of, or after `seconds`."""
        event = asyncio.Event()
        waiters = self._waiters.setdefault(task_id, set())
        waiters.add(event)
        try:
            async with asyncio.timeout(seconds):
                await event.wait()
        except TimeoutError:
            pass
        finally:
            waiters.discard(event)
            if not waiters:
                self._waiters.pop(task_id, None)
