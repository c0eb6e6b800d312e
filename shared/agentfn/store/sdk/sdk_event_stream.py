"""Adapts the stored events of a task to a2a-sdk's `TaskEventStream`: a subscriber sees what any invocation saved."""

import asyncio
from collections.abc import AsyncGenerator

from a2a.server.cluster.event_stream import TaskEventStream, VersionedEvent
from a2a.server.cluster.version import TaskVersion

from agentfn.store.task_events import event_payload
from agentfn.store.task_store import TaskStore

POLL_INTERVAL_SECONDS = 0.5


class SdkEventStream(TaskEventStream):
    """The events of one owner's tasks: the sdk passes a task's id alone, and the store also needs the owner."""

    def __init__(self, task_store: TaskStore, owner: str, poll_interval_seconds: float = POLL_INTERVAL_SECONDS) -> None:
        self._task_store = task_store
        self._owner = owner
        self._poll_interval_seconds = poll_interval_seconds

    async def publish(self, task_id: str, event: VersionedEvent) -> None:
        """Does nothing: `SdkTaskStore.save` writes an event in the transaction of its change."""

    async def subscribe(self, task_id: str, *, after: TaskVersion) -> AsyncGenerator[VersionedEvent, None]:
        """Yields events in order, without end. The subscriber stops when it has seen a terminal state, for example."""
        last_version = 0
        while True:
            saves = await self._task_store.read_events(self._owner, task_id, after=last_version)
            for last_version, events in saves:
                version = TaskVersion(last_version)
                for event in events if version.is_after(after) else ():
                    yield VersionedEvent(event_payload(event), version)
            if not saves:
                await asyncio.sleep(self._poll_interval_seconds)

    async def destroy(self, task_id: str) -> None:
        """Does nothing: events expire with their task."""
