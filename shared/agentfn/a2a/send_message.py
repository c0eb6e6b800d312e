"""A message becomes a task, or goes on with one that waits."""

import asyncio
import dataclasses
import functools
from typing import Any
from uuid import uuid4

from a2a.types import Task, TaskState
from a2a.utils.errors import InvalidParamsError, TaskNotFoundError, UnsupportedOperationError
from botocore.exceptions import BotoCoreError, ClientError

from agentfn.a2a.inbound_message import Incoming
from agentfn.a2a.referenced_tasks import recalled
from agentfn.a2a.task_streams import Streaming
from agentfn.deadline import Deadline, LambdaContext
from agentfn.errors import ConflictError, StorageError
from agentfn.files import TaskFiles
from agentfn.models import Turn
from agentfn.runs.runner import Runner
from agentfn.runs.task_updates import loop_awaiting_input, with_status
from agentfn.runs.work_queue import Continuation
from agentfn.store import Head, MessageRecord
from agentfn.store.push_store import Push, item_of, named
from agentfn.store.task_events import status_event

INSURANCE_SLACK = 3.0  # seconds after a lease's end that its insurance comes
FIRST_LOOK, LAST_LOOK = 0.2, 2.0  # seconds between the looks at a task that another invocation works on
FINISHED = "task {id} has ended and takes no more messages; start a new task with the same contextId"
REUSED = "message_id or Idempotency-Key was used before, for another message; give each message its own"
BUSY = "task {id} is being worked on; send a follow-up when it asks for input, or start a new task"


class Sending:
    """One caller's message. `wait` says that he waits for the end of the task, as far as the front door lets him.

    With a `listener`, the task is worked on beside him: he is told what happens, and is not waited for.
    """

    def __init__(
        self,
        runner: Runner,
        owner: str,
        context: LambdaContext,
        *,
        wait: bool,
        listener: Streaming | None = None,
    ) -> None:
        self._listener = listener
        self._runner = runner
        self._tasks = runner.tasks
        self._owner = owner
        self._wait = wait
        self._here = wait and runner.engine is None  # an executor runs whole, which a request has no time for
        settings = runner.settings
        # The front door answers 504 at its limit, whatever the function still has.
        cap = settings.request_seconds if listener is None else None  # a stream has as long as the function
        self._deadline = Deadline.from_lambda_context(
            context, reserve_seconds=settings.reserve_seconds, max_seconds=cap
        )

    async def start(self, incoming: Incoming, push: Push | None = None) -> Head:
        """A new task; `push` is who else wants to be told of it, from its beginning.

        Insurance first, then the task: a message for a task that never came to be is a no-op.
        """
        earlier = await recalled(self._runner, self._owner, incoming.message)
        task = Task(id=str(uuid4()), context_id=incoming.message.context_id or str(uuid4()))
        head = Head(self._tasks.agent, self._owner, task, skill=incoming.skill)
        head = dataclasses.replace(head, **await self._received(incoming, head))
        memory = earlier.to_memory(head.files, self._runner.settings)
        turns = [*memory.turns, Turn("user", incoming.prompt(head.files))]
        head = dataclasses.replace(head, files=(*head.files, *memory.files))
        lease = self._lease()
        await self._insure(head, lease)
        head = dataclasses.replace(head, idle=int(self._here), **self._held(head, lease))
        records = incoming.records(task.id)
        try:
            subscribed = functools.partial(_subscribed, push) if push else None
            head = await self._tasks.create(head, records, turns, subscribed)
        except ConflictError:
            return await self._same_message(records)
        return await self._worked_on(head, turns)

    async def follow_up(self, incoming: Incoming) -> Head:
        """The answer to a task that waits: it goes on with the same transcript."""
        loaded = await self._tasks.load(self._owner, incoming.message.task_id)
        if loaded is None:
            raise TaskNotFoundError
        head, turns = loaded
        records = incoming.records(head.task.id)
        if not head.waiting and await self._known(records):
            return await self._same_message(records)
        self._check_follow_up(head, incoming)
        from agentfn.loop.transcript import (  # a task that is begun or read needs no loop
            order_turns,
            pending_calls,
            turns_of_loop,
        )

        earlier = await recalled(self._runner, self._owner, incoming.message)
        received = await self._received(incoming, head)
        said = incoming.prompt(received["files"][len(head.files) :])
        loop = loop_awaiting_input(head.task)
        new = [Turn("user", said, loop=loop)]
        if not pending_calls(order_turns(turns_of_loop(turns, loop))):  # the verdict on a call stands right after it
            memory = earlier.to_memory(received["files"], self._runner.settings)
            received["files"] += memory.files
            new = [*(dataclasses.replace(turn, loop=loop) for turn in memory.turns), *new]
        lease = self._lease()
        await self._insure(dataclasses.replace(head, version=head.version + 1), lease)
        changes = {**received, **self._held(head, lease)}
        events = [status_event(received["task"])]
        try:
            head = await self._tasks.save(head, turns=new, events=events, messages=records, **changes)
        except ConflictError:
            return await self._same_message(records)
        return await self._worked_on(head, [*turns, *new])

    async def again(self, incoming: Incoming) -> Head | None:
        """The task that this message went to before; None for a message that is new."""
        records = incoming.records("")
        return await self._same_message(records) if await self._known(records) else None

    def _lease(self) -> float:
        """Seconds that a run which begins here may hold the task; 0 leaves it to the queue."""
        return self._runner.lease(self._deadline).duration() if self._here else 0.0

    async def _insure(self, coming: Head, lease: float) -> None:
        """A continuation for a head that is about to be written: for now, or for when its lease will have ended."""
        message = Continuation(self._owner, coming.task.id, coming.version, self._tasks.clock())
        await self._runner.queue.send(message, lease + INSURANCE_SLACK if lease else 0.0)

    def _held(self, head: Head, lease: float) -> dict[str, Any]:
        """The head's fields for a run that begins with such a lease, or for none."""
        begins = lease > 0
        return {"held": begins, "lease_end": self._tasks.clock() + lease, "run": head.run + begins}

    async def _worked_on(self, head: Head, turns: list[Turn]) -> Head:
        """The task is accepted: whatever happens to a run that begins here, its insurance brings another."""
        if self._listener is not None:
            if self._here:
                self._listener.work(self._run(head, turns))
            return head
        if not self._here:
            return await self._awaited(head)
        return await self._run(head, turns)

    async def _run(self, head: Head, turns: list[Turn]) -> Head:
        try:
            return await self._runner.run(head, turns, self._deadline)
        except (BotoCoreError, ClientError):
            return head

    async def _awaited(self, head: Head) -> Head:
        """The head, when it is over or time is up, where the caller waits for what another invocation does."""
        pause = FIRST_LOOK
        while self._wait and head.open and self._deadline.remaining() > pause:
            await asyncio.sleep(pause)
            head = await self._tasks.read(self._owner, head.task.id) or head
            pause = min(LAST_LOOK, pause * 1.5)
        return head

    async def _received(self, incoming: Incoming, head: Head) -> dict[str, Any]:
        """The task with the message in its history, and its files stored. Files that no task comes to name expire."""
        try:
            records = await asyncio.to_thread(self._attach, incoming, head)
        except StorageError as error:  # an upload that was there a moment ago
            raise InvalidParamsError(f"a file of the message is gone: {error}; upload it again") from None
        new = records[len(head.files) :]
        state = TaskState.TASK_STATE_WORKING if self._here else TaskState.TASK_STATE_SUBMITTED
        task = with_status(head.task, state)
        if head.task.status.HasField("message"):
            task.history.append(head.task.status.message)
        task.history.append(incoming.stored(task.id, task.context_id, new))
        return {"task": task, "files": records}

    def _attach(self, incoming: Incoming, head: Head) -> Any:
        if not incoming.files:
            return head.files
        with TaskFiles(self._runner.bucket, head.prefix, head.files) as files:
            for file in incoming.files:
                files.attach(file)
            return files.records

    async def _same_message(self, records: list[MessageRecord]) -> Head:
        """The task that this message went to before. Raises InvalidParamsError for another message of that id."""
        known = await self._known(records)
        if known is None:
            raise UnsupportedOperationError(BUSY.format(id=records[0].task_id))
        if known.digest != records[0].digest:
            raise InvalidParamsError(REUSED)
        head = await self._tasks.read(self._owner, known.task_id)
        if head is None:
            raise TaskNotFoundError
        return head if self._listener is not None else await self._awaited(head)

    async def _known(self, records: list[MessageRecord]) -> MessageRecord | None:
        """What is on record under one of the names."""
        for record in records:
            if known := await self._tasks.message(self._owner, record.message_id):
                return known
        return None

    def _check_follow_up(self, head: Head, incoming: Incoming) -> None:
        context_id = incoming.message.context_id
        if context_id and context_id != head.task.context_id:
            raise InvalidParamsError(f"task {head.task.id} belongs to another context than {context_id}")
        if head.terminal:
            raise UnsupportedOperationError(FINISHED.format(id=head.task.id))
        if not head.waiting:
            raise UnsupportedOperationError(BUSY.format(id=head.task.id))


def _subscribed(push: Push, head: Head) -> list[Any]:
    config = named(push.config, head.task.id)
    return [item_of(head, dataclasses.replace(push, config=config, sent=0))]
