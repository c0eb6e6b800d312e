"""The log of a task's events behind a2a-sdk's own interface: any invocation can tell what another one did."""

import asyncio
from collections.abc import AsyncGenerator

from a2a.server.cluster.event_stream import TaskEventStream, VersionedEvent
from a2a.server.cluster.version import TaskVersion

from agentfn.store.task_events import event_payload
from agentfn.store.task_store import TaskStore

POLL_INTERVAL_SECONDS = 0.5


class SdkEventStream(TaskEventStream):
    """The events of one owner's tasks: the sdk names a task by its id alone, which is not enough of a key."""

    def __init__(self, task_store: TaskStore, owner: str, poll_interval_seconds: float = POLL_INTERVAL_SECONDS) -> None:
        self._task_store = task_store
        self._owner = owner
        self._poll_interval_seconds = poll_interval_seconds

    async def publish(self, task_id: str, event: VersionedEvent) -> None:
        """Nothing: an event is written in the transaction that makes it, by `DynamoTaskStore.save`."""

    async def subscribe(self, task_id: str, *, after: TaskVersion) -> AsyncGenerator[VersionedEvent, None]:
        """Events in order, without end: whoever subscribed stops when it has seen enough, such as a terminal state."""
        seen = 0
        while True:
            found = await self._task_store.read_events(self._owner, task_id, after=seen)
            for seen, events in found:
                version = TaskVersion(seen)
                for event in events if version.is_after(after) else ():
                    yield VersionedEvent(event_payload(event), version)
            if not found:
                await asyncio.sleep(self._poll_interval_seconds)

    async def destroy(self, task_id: str) -> None:
        """Nothing: the log expires with its task."""
