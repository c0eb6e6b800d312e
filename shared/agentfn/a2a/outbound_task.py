"""Prepares stored tasks and events for a response: references to files become presigned URLs."""

from a2a.server.events.event_queue import Event
from a2a.types import Message, StreamResponse, Task, TaskArtifactUpdateEvent

from agentfn.a2a.file_links import presign_parts, task_parts
from agentfn.files import Bucket
from agentfn.runs.task_updates import read_metadata
from agentfn.store.task_events import event_payload

MAX_RESPONSE_BYTES = 4_000_000  # of a task; Lambda allows 6 MB of JSON


def presign_task(task: Task, bucket: Bucket, base_url: str) -> Task:
    """Returns a copy with presigned URLs. If it is too large for a response, the oldest messages are left out."""
    copy = Task()
    copy.CopyFrom(task)
    while copy.history and copy.ByteSize() > MAX_RESPONSE_BYTES:
        del copy.history[0]
    presign_parts(copy.id, task_parts(copy), bucket, base_url)
    return copy


def message_reply(task: Task) -> Message | None:
    """Returns the message that an executor replied with instead of a task, or None."""
    return task.status.message if read_metadata(task).get("reply") == "message" else None


def presign_event(response: StreamResponse, bucket: Bucket, base_url: str) -> Event:
    """Returns the event of a stream's response, with presigned URLs."""
    event: Event = event_payload(response)
    if isinstance(event, Task):
        return presign_task(event, bucket, base_url)
    if isinstance(event, TaskArtifactUpdateEvent):
        presign_parts(event.task_id, event.artifact.parts, bucket, base_url)
    return event
