"""What a run writes down while it works, so that the next one can go on from there."""

import asyncio
from collections.abc import Coroutine, Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from a2a.types import StreamResponse, Task
from botocore.exceptions import BotoCoreError, ClientError

from agentfn.deadline import Deadline
from agentfn.files import TaskWorkspace
from agentfn.models import Turn
from agentfn.runs.task_updates import failure_update, progress_update, result_update
from agentfn.runs.work_queue import Continuation, WorkQueue
from agentfn.store import TaskRecord, TaskStore
from agentfn.store.task_record import TERMINAL_STATES, WAITING_STATES
from agentfn.telemetry import logger
from agentfn.tools import File, FileRecord

if TYPE_CHECKING:
    from agentfn.loop import LoopEvent, LoopResult


@dataclass(frozen=True)
class Lease:
    """How long a task may be held from now on: never past the end of the invocation that holds it.

    `reserve` is what the deadline kept back of the invocation. All in seconds.
    """

    max_seconds: float
    reserve_seconds: float
    deadline: Deadline

    def duration(self) -> float:
        return min(self.max_seconds, self.deadline.remaining() + self.reserve_seconds)


@dataclass
class Journal:
    """The pen of the one run that holds a task. Its writes keep the lease, and the queue's message hidden as long.

    A write that lost its race raises ConflictError: somebody cancelled the task, or took it over.
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
        """Keeps what the event brings; at once, where it is urgent."""
        self._pending_turns += event.turns
        from agentfn.loop import Progress

        if isinstance(event, Progress):
            self._pending_progress = event.text
        if event.urgent:
            await self._save_progress()

    async def save_result(self, result: "LoopResult") -> None:
        """The last write of a task, or of a run that waits for its user: state, files and lease in one."""
        task, events = result_update(self.record.task, result, self.workspace.records)
        await self._write(events, task=task, held=False)

    async def save_failure(self, reason: str) -> None:
        task, events = failure_update(self.record.task, reason)
        await self._write(events, task=task, held=False)

    async def suspend(self, resume_in_seconds: float, *, cut_off: bool = False) -> None:
        """Lets go of the task and asks for another run. In this order: a message that meets a lease has to wait.

        A run that was cut off leaves a lease that has ended, as one that died does: calls may be under way.
        """
        now = self.task_store.clock()
        await self._write(held=cut_off, lease_end=now if cut_off else now + resume_in_seconds)
        await self.queue.send(
            Continuation(self.record.owner, self.record.task.id, self.record.version, now), resume_in_seconds
        )

    async def save_task(self, task: Task, events: list[StreamResponse]) -> bool:
        """Saves a task that an executor changed; whether it has ended or waits now, and is let go of."""
        over = task.status.state in TERMINAL_STATES | WAITING_STATES
        await self._write(events, task=task, held=not over, lease_end=self._lease_end())
        return over

    async def save_file(self, file: File) -> FileRecord:
        return await asyncio.to_thread(self.workspace.save_file, file)

    async def is_superseded(self) -> bool:
        """Whether somebody else wrote to the task since. One cheap read."""
        async with self._lock:
            seen = await self.task_store.read_if_unchanged(self.record)
            self.record = seen or self.record
            return seen is None

    async def heartbeat(self) -> None:
        """Tells progress that no save has told yet, and keeps the lease when nothing was saved for a third of it."""
        if self._pending_progress:
            await self._save_progress()
        elif self._is_worth_extending(self.record.lease_end):
            await _finish_write(self._renew_lease())
        if self._is_worth_extending(self._message_hidden_until):
            await self.hide_message()

    async def hide_message(self) -> None:
        """Keeps the queue's message hidden as long as the lease may last: it is this run's own insurance."""
        if not self.receipt_handle:
            return
        self._message_hidden_until = self._lease_end()
        try:
            await self.queue.set_visibility(self.receipt_handle, max(1.0, self.lease.duration()))
        except (BotoCoreError, ClientError) as error:  # it comes back early, or has done so: it meets the lease
            logger.warning("the queue's message could not be hidden: %s", error, task_id=self.record.task.id)

    def _is_worth_extending(self, until: float) -> bool:
        """Whether it is worth a write to move that moment: by a third of a lease at least.

        Each move is an entry of the index of open tasks, and near the deadline there is nothing to be gained.
        """
        return self._lease_end() - until >= self.lease.max_seconds / 3

    async def _save_progress(self) -> None:
        text, self._pending_progress = self._pending_progress, ""
        kept: dict[str, Any] = (
            {"lease_end": self._lease_end()} if self._is_worth_extending(self.record.lease_end) else {}
        )
        if not text:
            await self._write(**kept)
            return
        task, events = progress_update(self.record.task, text)
        await self._write(events, task=task, **kept)

    async def _write(self, events: Iterable[StreamResponse] = (), **changes: Any) -> None:
        await _finish_write(self._commit(events, changes))

    async def _commit(self, events: Iterable[StreamResponse], changes: dict[str, Any]) -> None:
        async with self._lock:
            turns, self._pending_turns = self._pending_turns, []
            self.record = await self.task_store.save(
                self.record, turns=turns, events=events, files=self.workspace.records, **changes
            )

    async def _renew_lease(self) -> None:
        async with self._lock:
            self.record = await self.task_store.renew_lease(self.record, self._lease_end())

    def _lease_end(self) -> float:
        return self.task_store.clock() + self.lease.duration()


async def _finish_write(write: Coroutine[Any, Any, None]) -> None:
    """A write that was begun is finished, even if whoever began it is cancelled: the next one must know its outcome."""
    task = asyncio.ensure_future(write)
    task.add_done_callback(lambda done: done.cancelled() or done.exception())  # seen, also when nobody waits any more
    await asyncio.shield(task)
