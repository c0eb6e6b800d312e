"""A message becomes a task, or goes on with one that waits."""

import asyncio
import dataclasses
import functools
from typing import Any
from uuid import uuid4

from a2a.types import Task, TaskState
from a2a.utils.errors import InvalidParamsError, TaskNotFoundError, UnsupportedOperationError

from agentfn.a2a.inbound_message import InboundMessage
from agentfn.a2a.referenced_tasks import load_related_tasks
from agentfn.a2a.task_streams import TaskStreams
from agentfn.call_context import CallContext
from agentfn.errors import AwsError, ConflictError, StoredDataError
from agentfn.models import Turn
from agentfn.runs.context_memory import RelatedTasks
from agentfn.runs.runner import Runner
from agentfn.runs.task_updates import loop_awaiting_input, with_status
from agentfn.runs.work_queue import Continuation
from agentfn.settings import Settings
from agentfn.store import MessageRecord, TaskRecord, TaskStore
from agentfn.store.push_store import PushSubscription, subscription_item, with_ids
from agentfn.store.task_events import status_event

SAFETY_MARGIN_SECONDS = 3.0  # seconds after a lease's end that its insurance comes
MIN_POLL_SECONDS, MAX_POLL_SECONDS = 0.2, 2.0  # seconds between the looks at a task that another invocation works on
TASK_ENDED = "task {id} has ended and takes no more messages; start a new task with the same contextId"
MESSAGE_ID_REUSED = "message_id or Idempotency-Key was used before, for another message; give each message its own"
TASK_BUSY = "task {id} is being worked on; send a follow-up when it asks for input, or start a new task"


class SendMessage:
    """One caller's message. `wait` says that he waits for the end of the task, as far as the front door lets him.

    With a `listener`, the task is worked on beside him: he is told what happens, and is not waited for.
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

    async def start(self, incoming: InboundMessage, push: PushSubscription | None = None) -> TaskRecord:
        """A new task; `push` is who else wants to be told of it, from its beginning.

        Insurance first, then the task: a message for a task that never came to be is a no-op.
        """
        earlier = await self._load_related_tasks(incoming)
        task = Task(id=str(uuid4()), context_id=incoming.message.context_id or str(uuid4()))
        head = TaskRecord(self._task_store.agent, self._owner, task, skill=incoming.skill)
        head = dataclasses.replace(head, **await self._store_message(incoming, head))
        memory = earlier.to_memory(head.files, self._settings)
        turns = [*memory.turns, Turn("user", incoming.user_prompt(head.files))]
        head = dataclasses.replace(head, files=(*head.files, *memory.files))
        lease = self._lease_seconds()
        await self._enqueue_safety_continuation(head, lease)
        head = dataclasses.replace(head, idle=int(self._runs_here), **self._lease_fields(head, lease))
        records = incoming.message_records(task.id)
        try:
            subscribed = functools.partial(_subscription_items, push) if push else None
            head = await self._task_store.create(head, records, turns, subscribed)
        except ConflictError:
            return await self._find_original(records)
        return await self._start_run(head, turns)

    async def follow_up(self, incoming: InboundMessage) -> TaskRecord:
        """The answer to a task that waits: it goes on with the same transcript."""
        loaded = await self._task_store.read_with_turns(self._owner, incoming.message.task_id)
        if loaded is None:
            raise TaskNotFoundError
        head, turns = loaded
        records = incoming.message_records(head.task.id)
        if not head.is_waiting and await self._find_message_record(records):
            return await self._find_original(records)
        self._check_follow_up(head, incoming)
        from agentfn.loop.transcript import (  # a task that is begun or read needs no loop
            order_turns,
            pending_calls,
            turns_of_loop,
        )

        earlier = await self._load_related_tasks(incoming)
        received = await self._store_message(incoming, head)
        said = incoming.user_prompt(received["files"][len(head.files) :])
        loop = loop_awaiting_input(head.task)
        new = [Turn("user", said, loop_name=loop)]
        if not pending_calls(order_turns(turns_of_loop(turns, loop))):  # the verdict on a call stands right after it
            memory = earlier.to_memory(received["files"], self._settings)
            received["files"] += memory.files
            new = [*(dataclasses.replace(turn, loop_name=loop) for turn in memory.turns), *new]
        lease = self._lease_seconds()
        await self._enqueue_safety_continuation(dataclasses.replace(head, version=head.version + 1), lease)
        changes = {**received, **self._lease_fields(head, lease)}
        events = [status_event(received["task"])]
        try:
            head = await self._task_store.save(head, turns=new, events=events, messages=records, **changes)
        except ConflictError:
            return await self._find_original(records)
        return await self._start_run(head, [*turns, *new])

    async def find_duplicate(self, incoming: InboundMessage) -> TaskRecord | None:
        """The task that this message went to before; None for a message that is new."""
        records = incoming.message_records("")
        return await self._find_original(records) if await self._find_message_record(records) else None

    async def _load_related_tasks(self, incoming: InboundMessage) -> RelatedTasks:
        engine = self._runner.engine
        return await load_related_tasks(self._task_store, self._owner, incoming.message, engine, self._settings)

    def _lease_seconds(self) -> float:
        """Seconds that a run which begins here may hold the task; 0 leaves it to the queue."""
        return self._runner.lease(self._deadline).duration() if self._runs_here else 0.0

    async def _enqueue_safety_continuation(self, coming: TaskRecord, lease: float) -> None:
        """A continuation for a head that is about to be written: for now, or for when its lease will have ended."""
        message = Continuation(self._owner, coming.task.id, coming.version, self._task_store.clock())
        await self._runner.enqueue_run(message, lease + SAFETY_MARGIN_SECONDS if lease else 0.0)

    def _lease_fields(self, head: TaskRecord, lease: float) -> dict[str, Any]:
        """The head's fields for a run that begins with such a lease, or for none."""
        begins = lease > 0
        return {"held": begins, "lease_end": self._task_store.clock() + lease, "run": head.run + begins}

    async def _start_run(self, head: TaskRecord, turns: list[Turn]) -> TaskRecord:
        """The task is accepted: whatever happens to a run that begins here, its insurance brings another."""
        if self._task_streams is not None:
            if self._runs_here:
                self._task_streams.run_in_background(self._run(head, turns))
            return head
        if not self._runs_here:
            return await self._wait_for_task(head)
        return await self._run(head, turns)

    async def _run(self, head: TaskRecord, turns: list[Turn]) -> TaskRecord:
        try:
            return await self._runner.run(head, turns, self._deadline)
        except AwsError:
            return head

    async def _wait_for_task(self, head: TaskRecord) -> TaskRecord:
        """The head, when it is over or time is up, where the caller waits for what another invocation does."""
        pause = MIN_POLL_SECONDS
        while self._wait and head.is_open and self._deadline.remaining() > pause:
            await asyncio.sleep(pause)
            head = await self._task_store.read(self._owner, head.task.id) or head
            pause = min(MAX_POLL_SECONDS, pause * 1.5)
        return head

    async def _store_message(self, incoming: InboundMessage, head: TaskRecord) -> dict[str, Any]:
        """The task with the message in its history, and its files stored. Files that no task comes to name expire."""
        try:
            records = await asyncio.to_thread(self._store_files, incoming, head)
        except StoredDataError as error:  # an upload that was there a moment ago
            raise InvalidParamsError(f"a file of the message is gone: {error}; upload it again") from None
        new = records[len(head.files) :]
        state = TaskState.TASK_STATE_WORKING if self._runs_here else TaskState.TASK_STATE_SUBMITTED
        task = with_status(head.task, state)
        if head.task.status.HasField("message"):
            task.history.append(head.task.status.message)
        task.history.append(incoming.history_message(task.id, task.context_id, new))
        return {"task": task, "files": records}

    def _store_files(self, incoming: InboundMessage, head: TaskRecord) -> Any:
        if not incoming.files:
            return head.files
        with self._runner.open_workspace(head) as files:
            for file in incoming.files:
                files.attach(file)
            return files.records

    async def _find_original(self, records: list[MessageRecord]) -> TaskRecord:
        """The task that this message went to before. Raises InvalidParamsError for another message of that id."""
        known = await self._find_message_record(records)
        if known is None:
            raise UnsupportedOperationError(TASK_BUSY.format(id=records[0].task_id))
        if known.digest != records[0].digest:
            raise InvalidParamsError(MESSAGE_ID_REUSED)
        head = await self._task_store.read(self._owner, known.task_id)
        if head is None:
            raise TaskNotFoundError
        return head if self._task_streams is not None else await self._wait_for_task(head)

    async def _find_message_record(self, records: list[MessageRecord]) -> MessageRecord | None:
        """What is on record under one of the names."""
        for record in records:
            if known := await self._task_store.find_message(self._owner, record.message_id):
                return known
        return None

    def _check_follow_up(self, head: TaskRecord, incoming: InboundMessage) -> None:
        context_id = incoming.message.context_id
        if context_id and context_id != head.task.context_id:
            raise InvalidParamsError(f"task {head.task.id} belongs to another context than {context_id}")
        if head.is_terminal:
            raise UnsupportedOperationError(TASK_ENDED.format(id=head.task.id))
        if not head.is_waiting:
            raise UnsupportedOperationError(TASK_BUSY.format(id=head.task.id))


def _subscription_items(push: PushSubscription, head: TaskRecord) -> list[Any]:
    config = with_ids(push.config, head.task.id)
    return [subscription_item(head, dataclasses.replace(push, config=config, delivered_version=0))]
