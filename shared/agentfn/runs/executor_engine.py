"""An agent that was written with another framework, as a2a-sdk's `AgentExecutor`, in the place of the loop.

It runs whole inside one invocation of the queue's door: nothing is known of its insides, so it cannot go on half-way.
"""

import asyncio
from dataclasses import dataclass

from a2a.server.agent_execution import AgentExecutor, RequestContext
from a2a.server.context import ServerCallContext
from a2a.server.events.event_queue import Event, EventQueue
from a2a.server.tasks.task_manager import append_artifact_to_task
from a2a.types import (
    Artifact,
    Message,
    Part,
    Role,
    SendMessageRequest,
    StreamResponse,
    Task,
    TaskArtifactUpdateEvent,
    TaskState,
    TaskStatusUpdateEvent,
)

from agentfn.auth.identity import Principal
from agentfn.errors import AgentfnError
from agentfn.files import Bucket
from agentfn.json_numbers import decode_message
from agentfn.runs.journal import Journal
from agentfn.runs.task_updates import OBJECT_SCHEME, file_part, with_status
from agentfn.store.task_events import now_timestamp, snapshot_event, status_event
from agentfn.tools import File

EXECUTOR_DIED_TEXT = (
    "The run that worked on this task died, and its outcome is unknown. An executor runs whole, so it is not run again "
    "unless it is served with repeatable=True."
)
EXECUTOR_TIMEOUT_TEXT = "The task needs more time than one run of this function has, and an executor runs whole."
NO_RESULT_TEXT = "The agent stopped without a result."


@dataclass(frozen=True)
class ExecutorEngine:
    """`repeatable` says that running it again, after a run that died, does no harm."""

    executor: AgentExecutor
    repeatable: bool = False

    async def run(self, journal: Journal, bucket: Bucket, *, interrupted: bool) -> None:
        """Runs it to its end, and saves what it publishes. Raises AgentfnError where it comes to no end."""
        if interrupted and not self.repeatable:
            raise AgentfnError(EXECUTOR_DIED_TEXT)
        events = _JournalEventQueue(journal)
        await self.executor.execute(await _request_context(journal, bucket), events)
        if not events.ended:
            raise AgentfnError(NO_RESULT_TEXT)

    async def cancel(self, journal: Journal, bucket: Bucket) -> None:
        """Lets it clean up. The task is cancelled already, so what it says goes nowhere."""
        await self.executor.cancel(await _request_context(journal, bucket), _DiscardingEventQueue())


class _JournalEventQueue(EventQueue):
    """Each event is one save. The first one that ends the task, or has it wait, is the last."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self.ended = False

    async def enqueue_event(self, event: Event) -> None:
        if self.ended:
            return
        if isinstance(event, TaskArtifactUpdateEvent):
            await self._store_files(event.artifact)
        task, told = _apply_event(self._journal.record.task, event)
        self.ended = await self._journal.save_task(task, told)

    async def _store_files(self, artifact: Artifact) -> None:
        """Bytes do not belong into the table: they go to the bucket, and the part refers to them."""
        for part in artifact.parts:
            if part.WhichOneof("content") == "raw":
                file = File(part.filename or artifact.name or "file", part.raw, part.media_type)
                part.CopyFrom(file_part(await self._journal.store_file(file)))


class _DiscardingEventQueue(EventQueue):
    async def enqueue_event(self, event: Event) -> None:
        return


def _apply_event(task: Task, event: Event) -> tuple[Task, list[StreamResponse]]:
    """The task after the event, and what a stream shows of it."""
    changed = Task()
    changed.CopyFrom(task)
    match event:
        case TaskStatusUpdateEvent():
            changed.status.CopyFrom(event.status)
            changed.status.timestamp.CopyFrom(now_timestamp())
            return changed, [status_event(changed)]
        case TaskArtifactUpdateEvent():
            append_artifact_to_task(changed, event)
            told = StreamResponse(artifact_update=event)
            told.artifact_update.task_id, told.artifact_update.context_id = task.id, task.context_id
            return changed, [told]
        case Message():
            ended = with_status(changed, TaskState.TASK_STATE_COMPLETED)
            ended.status.message.CopyFrom(event)
            ended.metadata.update({"agentfn": {"reply": "message"}})
            return ended, [snapshot_event(ended)]
        case Task():
            changed.status.CopyFrom(event.status)
            changed.status.timestamp.CopyFrom(now_timestamp())
            return changed, [snapshot_event(changed)]
    raise AgentfnError(f"the executor published {type(event).__name__}, which is no event of A2A")


async def _request_context(journal: Journal, bucket: Bucket) -> RequestContext:
    """What the sdk's own handler would give it: the user's last message, with its files as they were sent."""
    head = journal.record
    said = next(message for message in reversed(head.task.history) if message.role == Role.ROLE_USER)
    message = decode_message(said)
    for part in message.parts:
        if part.url.startswith(OBJECT_SCHEME):
            content = await asyncio.to_thread(bucket.get, part.url.removeprefix(OBJECT_SCHEME))
            part.CopyFrom(Part(raw=content, filename=part.filename, media_type=part.media_type))
    context = ServerCallContext(user=Principal(head.owner))
    task = decode_message(head.task)
    return RequestContext(context, SendMessageRequest(message=message), task.id, task.context_id, task)
