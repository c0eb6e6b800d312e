"""Sends a message to the agent: it begins a task, or continues one that waits for input."""

import asyncio
import dataclasses
from collections.abc import Sequence
from uuid import uuid4

from a2a.types import Task, TaskState
from a2a.utils.errors import InvalidParamsError, TaskNotFoundError, UnsupportedOperationError

from agentfn.a2a.inbound_message import InboundMessage
from agentfn.a2a.referenced_tasks import load_related_tasks
from agentfn.a2a.task_streams import TaskStreams
from agentfn.call_context import CallContext
from agentfn.errors import AwsError, ConflictError, StoredDataError
from agentfn.models import Turn
from agentfn.runs.runner import Runner
from agentfn.runs.task_updates import loop_awaiting_input, with_status
from agentfn.runs.work_queue import Continuation
from agentfn.settings import Settings
from agentfn.store import MessageRecord, RecordChanges, TaskRecord, TaskStore
from agentfn.store.push_store import PushSubscription, with_ids
from agentfn.store.task_events import status_event
from agentfn.tools import FileRecord

SAFETY_MARGIN_SECONDS = 3.0  # between the end of a lease and the continuation that follows it
MIN_POLL_SECONDS, MAX_POLL_SECONDS = 0.2, 2.0  # between reads of a task that another invocation works on
TASK_ENDED = "task {id} has ended and takes no more messages; start a new task with the same contextId"
MESSAGE_ID_REUSED = "message_id or Idempotency-Key was used before, for another message; give each message its own"
TASK_BUSY = "task {id} is being worked on; send a follow-up when it asks for input, or start a new task"


class SendMessage:
    """Handles one message. With `wait`, the caller waits for the end of the task, as long as API Gateway allows.

    With `task_streams`, the run goes on in the background while the caller is sent its events.
    """

    def __init__(
        self,
        runner: Runner,
        task_store: TaskStore,
        settings: Settings,
        call: CallContext,
        *,
        wait: bool,
        task_streams: TaskStreams | None = None,
    ) -> None:
        self._task_streams = task_streams
        self._runner = runner
        self._task_store = task_store
        self._settings = settings
        self._owner = call.caller.id
        self._wait = wait
        self._runs_here = wait and runner.engine.can_suspend  # a request has no time for a run that cannot be suspended
        self._deadline = call.deadline if task_streams is not None else call.response_deadline

    async def start(self, message: InboundMessage, push: PushSubscription | None = None) -> TaskRecord:
        """Begins a task. `push` subscribes to it from its first event.

        The safety continuation is sent before the task is written: if the write fails, its run finds no task.
        """
        engine = self._runner.engine
        related = await load_related_tasks(self._task_store, self._owner, message.message, engine, self._settings)
        task = Task(id=str(uuid4()), context_id=message.message.context_id or str(uuid4()))
        new_record = TaskRecord(self._task_store.agent, self._owner, task, skill=message.skill)
        files = await self._store_files(message, new_record)
        memory = related.to_memory(files, self._settings)
        turns = [*memory.turns, Turn("user", message.user_prompt(files))]
        lease = self._lease_seconds()
        await self._enqueue_safety_continuation(task.id, new_record.version, lease)
        changes: RecordChanges = {
            "task": self._append_message(task, message, files),
            "files": (*files, *memory.files),
            "idle_runs": int(self._runs_here),
            **self._lease_fields(new_record, lease),
        }
        record = dataclasses.replace(new_record, **changes)
        message_records = message.message_records(task.id)
        try:
            subscription = _first_subscription(push, task.id)
            record = await self._task_store.create(record, message_records, turns, subscription)
        except ConflictError:
            return await self._find_original(message_records)
        return await self._start_run(record, turns)

    async def follow_up(self, message: InboundMessage) -> TaskRecord:
        """Continues a task that waits for input, with the same transcript."""
        loaded = await self._task_store.read_with_turns(self._owner, message.message.task_id)
        if loaded is None:
            raise TaskNotFoundError
        record, turns = loaded
        message_records = message.message_records(record.task.id)
        if not record.is_waiting and await self._find_message_record(message_records):
            return await self._find_original(message_records)
        _check_follow_up(record, message)
        engine = self._runner.engine
        related = await load_related_tasks(self._task_store, self._owner, message.message, engine, self._settings)
        files = await self._store_files(message, record)
        new_files = files[len(record.files) :]
        loop_name = loop_awaiting_input(record.task)
        new_turns = [Turn("user", message.user_prompt(new_files), loop_name=loop_name)]
        if not _has_pending_calls(turns, loop_name):  # an approval must come right after its call
            memory = related.to_memory(files, self._settings)
            files += memory.files
            new_turns = [*(dataclasses.replace(turn, loop_name=loop_name) for turn in memory.turns), *new_turns]
        lease = self._lease_seconds()
        await self._enqueue_safety_continuation(record.task.id, record.version + 1, lease)
        task = self._append_message(record.task, message, new_files)
        changes: RecordChanges = {"task": task, "files": files, **self._lease_fields(record, lease)}
        try:
            record = await self._task_store.save(
                record, turns=new_turns, events=[status_event(task)], messages=message_records, **changes
            )
        except ConflictError:
            return await self._find_original(message_records)
        return await self._start_run(record, [*turns, *new_turns])

    async def find_duplicate(self, message: InboundMessage) -> TaskRecord | None:
        """Returns the task that this message was sent to before; None for a new message."""
        message_records = message.message_records("")
        if not await self._find_message_record(message_records):
            return None
        return await self._find_original(message_records)

    def _lease_seconds(self) -> float:
        """Returns how long a run that begins here may hold the task; 0 leaves the run to the queue."""
        return self._runner.lease(self._deadline).duration() if self._runs_here else 0.0

    async def _enqueue_safety_continuation(self, task_id: str, version: int, lease: float) -> None:
        """Asks for a run of the version that is about to be written: now, or when the lease will have ended."""
        continuation = Continuation(self._owner, task_id, version, self._task_store.clock())
        await self._runner.enqueue_run(continuation, lease + SAFETY_MARGIN_SECONDS if lease else 0.0)

    def _lease_fields(self, record: TaskRecord, lease: float) -> RecordChanges:
        """Returns the record's fields for a run that begins with such a lease, or for no run."""
        begins = lease > 0
        return {"leased": begins, "lease_end": self._task_store.clock() + lease, "run": record.run + begins}

    async def _start_run(self, record: TaskRecord, turns: list[Turn]) -> TaskRecord:
        """Runs the stored task here, or waits for the queue's run. If the run dies, the safety continuation follows."""
        if self._task_streams is not None:
            if self._runs_here:
                self._task_streams.run_in_background(self._run(record, turns))
            return record
        if not self._runs_here:
            return await self._wait_for_task(record)
        return await self._run(record, turns)

    async def _run(self, record: TaskRecord, turns: list[Turn]) -> TaskRecord:
        try:
            return await self._runner.run(record, turns, self._deadline)
        except AwsError:
            return record

    async def _wait_for_task(self, record: TaskRecord) -> TaskRecord:
        """If the caller waits, polls until the task is no longer open or time is up."""
        pause = MIN_POLL_SECONDS
        while self._wait and record.is_open and self._deadline.remaining() > pause:
            await asyncio.sleep(pause)
            record = await self._task_store.read(self._owner, record.task.id) or record
            pause = min(MAX_POLL_SECONDS, pause * 1.5)
        return record

    async def _store_files(self, message: InboundMessage, record: TaskRecord) -> tuple[FileRecord, ...]:
        """Stores the message's files and returns all of the task's. The bucket expires those that no task names."""
        if not message.files:
            return record.files

        def attach_all() -> tuple[FileRecord, ...]:
            with self._runner.open_workspace(record) as workspace:
                for file in message.files:
                    workspace.attach(file)
                return workspace.records

        try:
            return await asyncio.to_thread(attach_all)
        except StoredDataError as error:  # an upload was deleted just now
            raise InvalidParamsError(f"a file of the message is gone: {error}; upload it again") from None

    def _append_message(self, task: Task, message: InboundMessage, files: Sequence[FileRecord]) -> Task:
        """Returns a copy of the task that works, or is to be worked on, with the message in its history."""
        changed = with_status(task, TaskState.TASK_STATE_WORKING if self._runs_here else TaskState.TASK_STATE_SUBMITTED)
        if task.status.HasField("message"):
            changed.history.append(task.status.message)
        changed.history.append(message.history_message(task.id, task.context_id, files))
        return changed

    async def _find_original(self, message_records: list[MessageRecord]) -> TaskRecord:
        """Returns the task that this message was sent to before.

        Raises InvalidParamsError if another message had the same id or key.
        """
        known = await self._find_message_record(message_records)
        if known is None:
            raise UnsupportedOperationError(TASK_BUSY.format(id=message_records[0].task_id))
        if known.digest != message_records[0].digest:
            raise InvalidParamsError(MESSAGE_ID_REUSED)
        record = await self._task_store.read(self._owner, known.task_id)
        if record is None:
            raise TaskNotFoundError
        return record if self._task_streams is not None else await self._wait_for_task(record)

    async def _find_message_record(self, message_records: list[MessageRecord]) -> MessageRecord | None:
        for message_record in message_records:
            if known := await self._task_store.find_message(self._owner, message_record.message_id):
                return known
        return None


def _has_pending_calls(turns: list[Turn], loop_name: str) -> bool:
    from agentfn.loop.transcript import order_turns, pending_calls, turns_of_loop  # only follow-ups need the loop

    return bool(pending_calls(order_turns(turns_of_loop(turns, loop_name))))


def _check_follow_up(record: TaskRecord, message: InboundMessage) -> None:
    context_id = message.message.context_id
    if context_id and context_id != record.task.context_id:
        raise InvalidParamsError(f"task {record.task.id} belongs to another context than {context_id}")
    if record.is_terminal:
        raise UnsupportedOperationError(TASK_ENDED.format(id=record.task.id))
    if not record.is_waiting:
        raise UnsupportedOperationError(TASK_BUSY.format(id=record.task.id))


def _first_subscription(push: PushSubscription | None, task_id: str) -> PushSubscription | None:
    """The subscription that a message brings, for its new task: all events of the task are still to be delivered."""
    return dataclasses.replace(push, config=with_ids(push.config, task_id), delivered_version=0) if push else None
