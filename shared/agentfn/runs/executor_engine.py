"""The engine of agents that are written with another framework, as an `AgentExecutor` of a2a-sdk.

An executor runs from start to end in one invocation: its state is not saved, so another run cannot continue it.
"""

import asyncio
from dataclasses import dataclass, field

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
from agentfn.json_numbers import decode_message
from agentfn.runs.journal import Journal
from agentfn.runs.run import Run
from agentfn.runs.task_updates import METADATA_KEY, OBJECT_SCHEME, file_part, with_status
from agentfn.store.task_events import now_timestamp, snapshot_event, status_event
from agentfn.tools import File

EXECUTOR_DIED_TEXT = (
    "The run that worked on this task died, and its outcome is unknown. An executor runs whole, so it is not run again "
    "unless it is served with repeatable=True."
)
NO_RESULT_TEXT = "The agent stopped without a result."


@dataclass(frozen=True)
class ExecutorEngine:
    """Runs an a2a-sdk `AgentExecutor`. `repeatable` says that it may run again after a run that died."""

    executor: AgentExecutor
    repeatable: bool = False
    can_suspend: bool = field(default=False, init=False)
    may_reply_with_message: bool = field(default=True, init=False)
    reads_transcript: bool = field(default=False, init=False)

    async def run(self, run: Run) -> None:
        """Saves each event that the executor publishes. Raises AgentfnError if it ends without a result."""
        if run.interrupted and not self.repeatable:
            raise AgentfnError(EXECUTOR_DIED_TEXT)
        events = _JournalEventQueue(run.journal)
        await self.executor.execute(await _request_context(run.journal), events)
        if not events.ended:
            raise AgentfnError(NO_RESULT_TEXT)

    async def cancel(self, run: Run) -> None:
        """Tells the executor that the task was cancelled. What it publishes is discarded: the task has ended."""
        await self.executor.cancel(await _request_context(run.journal), _DiscardingEventQueue())

    def warm_up(self) -> None:
        """Does nothing: what the executor imports is imported with it."""

    def reset(self) -> None:
        """Does nothing: the executor's state belongs to its author."""

    async def aclose(self) -> None:
        """Does nothing: agentfn opens no connection for an executor."""


class _JournalEventQueue(EventQueue):
    """Saves each event. Drops those that come after the one that ends the task or makes it wait."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self.ended = False

    async def enqueue_event(self, event: Event) -> None:
        if self.ended:
            return
        if isinstance(event, TaskArtifactUpdateEvent):
            await self._store_files(event.artifact)
        task, events = _apply_event(self._journal.record.task, event)
        self.ended = await self._journal.save_task(task, events)

    async def _store_files(self, artifact: Artifact) -> None:
        """Moves file contents to the bucket; the artifact's parts then name the objects."""
        for part in artifact.parts:
            if part.WhichOneof("content") == "raw":
                file = File(part.filename or artifact.name or "file", part.raw, part.media_type)
                part.CopyFrom(file_part(await self._journal.save_file(file)))


class _DiscardingEventQueue(EventQueue):
    async def enqueue_event(self, event: Event) -> None:
        return


def _apply_event(task: Task, event: Event) -> tuple[Task, list[StreamResponse]]:
    """The task after the event, and the events that are stored for streams. Raises AgentfnError for other types."""
    changed = Task()
    changed.CopyFrom(task)
    match event:
        case TaskStatusUpdateEvent():
            changed.status.CopyFrom(event.status)
            changed.status.timestamp.CopyFrom(now_timestamp())
            return changed, [status_event(changed)]
        case TaskArtifactUpdateEvent():
            append_artifact_to_task(changed, event)
            update = StreamResponse(artifact_update=event)
            update.artifact_update.task_id, update.artifact_update.context_id = task.id, task.context_id
            return changed, [update]
        case Message():
            ended = with_status(changed, TaskState.TASK_STATE_COMPLETED)
            ended.status.message.CopyFrom(event)
            ended.metadata.update({METADATA_KEY: {"reply": "message"}})
            return ended, [snapshot_event(ended)]
        case Task():
            changed.status.CopyFrom(event.status)
            changed.status.timestamp.CopyFrom(now_timestamp())
            return changed, [snapshot_event(changed)]
    raise AgentfnError(f"the executor published {type(event).__name__}, which is no event of A2A")


async def _request_context(journal: Journal) -> RequestContext:
    """What a2a-sdk's own request handler would pass: the user's last message, with the content of its files."""
    record = journal.record
    last = next(message for message in reversed(record.task.history) if message.role == Role.ROLE_USER)
    message = decode_message(last)
    for part in message.parts:
        if part.url.startswith(OBJECT_SCHEME):
            content = await asyncio.to_thread(journal.workspace.read_object, part.url.removeprefix(OBJECT_SCHEME))
            part.CopyFrom(Part(raw=content, filename=part.filename, media_type=part.media_type))
    context = ServerCallContext(user=Principal(record.owner))
    task = decode_message(record.task)
    return RequestContext(context, SendMessageRequest(message=message), task.id, task.context_id, task)
