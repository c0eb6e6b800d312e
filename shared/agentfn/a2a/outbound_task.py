"""A stored task as a caller reads it: with living links."""

from a2a.server.events.event_queue import Event
from a2a.types import Message, StreamResponse, Task, TaskArtifactUpdateEvent

from agentfn.a2a.file_links import presign_parts, task_parts
from agentfn.files import Bucket
from agentfn.runs.task_updates import read_metadata
from agentfn.store.task_events import event_payload

MAX_RESPONSE_BYTES = 4_000_000  # bytes of a task in an answer; Lambda's may have 6 MB, of JSON


def presign_task(task: Task, bucket: Bucket, base_url: str) -> Task:
    """A copy in which every reference to an object is a link, signed now. Of a history that no answer holds it has the
    newest.
    """
    shown = Task()
    shown.CopyFrom(task)
    while shown.history and shown.ByteSize() > MAX_RESPONSE_BYTES:
        del shown.history[0]
    presign_parts(shown.id, task_parts(shown), bucket, base_url)
    return shown


def message_reply(task: Task) -> Message | None:
    """What an executor answered that wanted no task; None where it wanted one."""
    return task.status.message if read_metadata(task).get("reply") == "message" else None


def presign_event(response: StreamResponse, bucket: Bucket, base_url: str) -> Event:
    """What a stream tells, with living links."""
    event: Event = event_payload(response)
    if isinstance(event, Task):
        return presign_task(event, bucket, base_url)
    if isinstance(event, TaskArtifactUpdateEvent):
        presign_parts(event.task_id, event.artifact.parts, bucket, base_url)
    return event
