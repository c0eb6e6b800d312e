"""The sdk's `TaskEventStream` on the log: what its interface says, told by two who do not know of each other."""

import asyncio
from contextlib import aclosing
from typing import Any

import pytest
from a2a.server.cluster.event_stream import VersionedEvent
from a2a.server.cluster.version import TaskVersion
from a2a.types import Artifact, Task, TaskArtifactUpdateEvent, TaskState, TaskStatusUpdateEvent

from agentfn.runs.task_updates import with_status
from agentfn.store import TaskRecord
from agentfn.store.sdk import SdkEventStream
from agentfn.store.task_events import artifact_event, status_event

MISSING = TaskVersion.MISSING


async def taken(stream: SdkEventStream, count: int, after: TaskVersion) -> list[VersionedEvent]:
    """The first so many events."""
    found: list[VersionedEvent] = []
    async with aclosing(stream.subscribe("t1", after=after)) as events:
        async for event in events:
            found.append(event)
            if len(found) == count:
                break
    return found


def working(world: Any, head: TaskRecord, text: str) -> TaskRecord:
    task = with_status(head.task, TaskState.TASK_STATE_WORKING, text)
    told = [artifact_event(task, Artifact(artifact_id=text)), status_event(task)]
    saved: TaskRecord = world.run(world.tasks.save(head, task=task, events=told))
    return saved


@pytest.fixture
def stream(world: Any) -> SdkEventStream:
    return SdkEventStream(world.tasks, "alice", poll_interval_seconds=0.01)


def test_a_subscriber_gets_every_event_in_order_with_its_version(world: Any, stream: SdkEventStream) -> None:
    head = world.created()
    for text in ("one", "two"):
        head = working(world, head, text)
    events = world.run(taken(stream, 5, MISSING))
    assert [event.version for event in events] == [TaskVersion(number) for number in (1, 2, 2, 3, 3)]
    assert [type(event.event) for event in events[:3]] == [Task, TaskArtifactUpdateEvent, TaskStatusUpdateEvent]
    assert events[-1].event.status.message.parts[0].text == "two"


def test_after_a_snapshot_comes_only_what_is_newer(world: Any, stream: SdkEventStream) -> None:
    head = working(world, working(world, world.created(), "one"), "two")
    snapshot = TaskVersion(head.version - 1)
    events = world.run(taken(stream, 2, snapshot))
    assert all(event.version.is_after(snapshot) for event in events)
    assert events[0].event.artifact.artifact_id == "two"


def test_an_event_that_is_written_later_arrives(world: Any, stream: SdkEventStream) -> None:
    head = world.created()

    async def both() -> list[VersionedEvent]:
        waiting = asyncio.ensure_future(taken(stream, 2, TaskVersion(1)))
        await asyncio.sleep(0.05)
        assert not waiting.done()
        task = with_status(head.task, TaskState.TASK_STATE_WORKING, "late")
        told = [artifact_event(task, Artifact(artifact_id="late")), status_event(task)]
        await world.tasks.save(head, task=task, events=told)
        return await waiting

    assert world.run(both())[-1].event.status.message.parts[0].text == "late"


def test_another_owner_s_stream_is_silent(world: Any) -> None:
    world.created()
    stranger = SdkEventStream(world.tasks, "bob", poll_interval_seconds=0.01)
    with pytest.raises(TimeoutError):
        world.run(asyncio.wait_for(taken(stranger, 1, MISSING), 0.2))


def test_to_publish_and_to_destroy_change_nothing(world: Any, stream: SdkEventStream) -> None:
    """The store has written the event with its task; the log expires with it."""
    head = world.created()
    before = world.items()
    event = VersionedEvent(head.task, TaskVersion(1))
    world.run(stream.publish("t1", event))
    world.run(stream.destroy("t1"))
    assert world.items() == before
