"""Builds the events that a stream shows of a task."""

from datetime import UTC, datetime
from typing import Any

from a2a.types import Artifact, StreamResponse, Task, TaskArtifactUpdateEvent, TaskStatusUpdateEvent
from google.protobuf.timestamp_pb2 import Timestamp


def now_timestamp() -> Timestamp:
    """The current time in whole milliseconds, as A2A asks for."""
    timestamp = Timestamp()
    timestamp.FromMilliseconds(int(datetime.now(UTC).timestamp() * 1000))
    return timestamp


def event_payload(event: StreamResponse) -> Any:
    """The task, message, status update or artifact update that the event carries."""
    return getattr(event, str(event.WhichOneof("payload")))


def snapshot_event(task: Task) -> StreamResponse:
    return StreamResponse(task=task)


def status_event(task: Task) -> StreamResponse:
    update = TaskStatusUpdateEvent(task_id=task.id, context_id=task.context_id, status=task.status)
    return StreamResponse(status_update=update)


def artifact_event(task: Task, artifact: Artifact) -> StreamResponse:
    update = TaskArtifactUpdateEvent(task_id=task.id, context_id=task.context_id, artifact=artifact, last_chunk=True)
    return StreamResponse(artifact_update=update)
