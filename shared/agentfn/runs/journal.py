"""The journal of a run: saves what happens, so that the next run can continue from there."""

import asyncio
from collections.abc import Coroutine, Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Unpack

from a2a.types import StreamResponse, Task

from agentfn.deadline import Deadline
from agentfn.errors import AwsError
from agentfn.files import TaskWorkspace
from agentfn.models import Turn
from agentfn.runs.task_updates import failure_update, progress_update, result_update
from agentfn.runs.work_queue import Continuation, WorkQueue
from agentfn.store import TaskRecord, TaskStore
from agentfn.store.task_record import TERMINAL_STATES, WAITING_STATES, RecordChanges
from agentfn.telemetry import logger
from agentfn.tools import File, FileRecord

if TYPE_CHECKING:
    from agentfn.loop import LoopEvent, LoopResult


@dataclass(frozen=True)
class Lease:
    """How long a run may hold its task: at most `max_seconds`, and not past the end of the invocation.

    The deadline is `reserve_seconds` before that end.
    """

    max_seconds: float
    reserve_seconds: float
    deadline: Deadline

    def duration(self) -> float:
        """Seconds from now."""
        return min(self.max_seconds, self.deadline.remaining() + self.reserve_seconds)


@dataclass
class Journal:
    """Writes to the task that a run holds. Renews the lease, and keeps the queue's message hidden as long as it lasts.

    A write raises ConflictError if the task was cancelled or taken over.
    """

    task_store: TaskStore
    record: TaskRecord
    workspace: TaskWorkspace
    lease: Lease
    queue: WorkQueue
    receipt_handle: str = ""
    _lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    _pending_turns: list[Turn] = field(default_factory=list)
    _pending_progress: str = ""
    _message_hidden_until: float = 0.0

    async def add_event(self, event: "LoopEvent") -> None:
        """Takes the event's turns and progress. Saves them at once if the event is urgent, else with the next write."""
        self._pending_turns += event.turns
        from agentfn.loop import Progress

        if isinstance(event, Progress):
            self._pending_progress = event.text
        if event.urgent:
            await self._save_progress()

    async def save_result(self, result: "LoopResult") -> None:
        """Saves the result and releases the task, in one write: the task has ended, or waits for its user."""
        task, events = result_update(self.record.task, result, self.workspace.records)
        await self._write(events, task=task, leased=False)

    async def save_failure(self, reason: str) -> None:
        task, events = failure_update(self.record.task, reason)
        await self._write(events, task=task, leased=False)

    async def suspend(self, resume_in_seconds: float, *, cut_off: bool = False) -> None:
        """Releases the task, then enqueues another run: a message that finds a lease would have to wait.

        A run that was cut off leaves an ended lease, as a run that died does: its calls may be under way.
        """
        now = self.task_store.clock()
        await self._write(leased=cut_off, lease_end=now if cut_off else now + resume_in_seconds)
        await self.queue.send(
            Continuation(self.record.owner, self.record.task.id, self.record.version, now), resume_in_seconds
        )

    async def save_task(self, task: Task, events: list[StreamResponse]) -> bool:
        """Saves a task that an executor changed. Releases it and returns True if it has ended or waits for its user."""
        is_done = task.status.state in TERMINAL_STATES | WAITING_STATES
        await self._write(events, task=task, leased=not is_done, lease_end=self._lease_end())
        return is_done

    async def save_file(self, file: File) -> FileRecord:
        return await asyncio.to_thread(self.workspace.save_file, file)

    async def is_superseded(self) -> bool:
        """Whether another writer has changed the task. One small read."""
        async with self._lock:
            unchanged = await self.task_store.read_if_unchanged(self.record)
            self.record = unchanged or self.record
            return unchanged is None

    async def heartbeat(self) -> None:
        """Saves pending progress. Renews the lease if nothing was saved for a third of its time."""
        if self._pending_progress:
            await self._save_progress()
        elif self._is_worth_extending(self.record.lease_end):
            await _finish_write(self._renew_lease())
        if self._is_worth_extending(self._message_hidden_until):
            await self.hide_message()

    async def hide_message(self) -> None:
        """Hides the queue's message as long as the lease lasts. If the run dies, the queue delivers it again."""
        if not self.receipt_handle:
            return
        self._message_hidden_until = self._lease_end()
        try:
            await self.queue.set_visibility(self.receipt_handle, max(1.0, self.lease.duration()))
        except AwsError as error:  # delivered early, it finds the lease and waits
            logger.warning(
                "the visibility of the queue's message could not be extended: %s", error, task_id=self.record.task.id
            )

    def _is_worth_extending(self, until: float) -> bool:
        """Whether an extension gains at least a third of a lease: each one writes to the index of open tasks."""
        return self._lease_end() - until >= self.lease.max_seconds / 3

    async def _save_progress(self) -> None:
        text, self._pending_progress = self._pending_progress, ""
        extends = self._is_worth_extending(self.record.lease_end)
        changes: RecordChanges = {"lease_end": self._lease_end()} if extends else {}
        if not text:
            await self._write(**changes)
            return
        changes["task"], events = progress_update(self.record.task, text)
        await self._write(events, **changes)

    async def _write(self, events: Iterable[StreamResponse] = (), **changes: Unpack[RecordChanges]) -> None:
        await _finish_write(self._commit(events, changes))

    async def _commit(self, events: Iterable[StreamResponse], changes: RecordChanges) -> None:
        async with self._lock:
            turns, self._pending_turns = self._pending_turns, []
            changes = {**changes, "files": self.workspace.records}
            self.record = await self.task_store.save(self.record, turns=turns, events=events, **changes)

    async def _renew_lease(self) -> None:
        async with self._lock:
            self.record = await self.task_store.renew_lease(self.record, self._lease_end())

    def _lease_end(self) -> float:
        return self.task_store.clock() + self.lease.duration()


async def _finish_write(write: Coroutine[Any, Any, None]) -> None:
    """Finishes the write even if its caller is cancelled: the next write needs the new record."""
    task = asyncio.ensure_future(write)
    task.add_done_callback(lambda done: done.cancelled() or done.exception())  # marks the error as retrieved
    await asyncio.shield(task)
