"""What a stream shows of a task."""

from datetime import UTC, datetime
from typing import Any

from a2a.types import Artifact, StreamResponse, Task, TaskArtifactUpdateEvent, TaskStatusUpdateEvent
from google.protobuf.timestamp_pb2 import Timestamp


def now_timestamp() -> Timestamp:
    """The present moment, in whole milliseconds as A2A asks for."""
    moment = Timestamp()
    moment.FromMilliseconds(int(datetime.now(UTC).timestamp() * 1000))
    return moment


def event_payload(event: StreamResponse) -> Any:
    """The event itself."""
    return getattr(event, str(event.WhichOneof("payload")))


def snapshot_event(task: Task) -> StreamResponse:
    return StreamResponse(task=task)


def status_event(task: Task) -> StreamResponse:
    event = TaskStatusUpdateEvent(task_id=task.id, context_id=task.context_id, status=task.status)
    return StreamResponse(status_update=event)


def artifact_event(task: Task, artifact: Artifact) -> StreamResponse:
    event = TaskArtifactUpdateEvent(task_id=task.id, context_id=task.context_id, artifact=artifact, last_chunk=True)
    return StreamResponse(artifact_update=event)
