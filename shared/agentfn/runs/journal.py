"""What a run writes down while it works, so that the next one can go on from there."""

import asyncio
from collections.abc import Coroutine, Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from a2a.types import StreamResponse, Task
from botocore.exceptions import BotoCoreError, ClientError

from agentfn.deadline import Deadline
from agentfn.files import TaskFiles
from agentfn.models import Turn
from agentfn.runs.task_updates import ended, failed, progressed
from agentfn.runs.work_queue import Continuation, Continuations
from agentfn.store import Head, Tasks
from agentfn.store.head import TERMINAL, WAITING
from agentfn.telemetry import logger
from agentfn.tools import File, FileRecord

if TYPE_CHECKING:
    from agentfn.loop import Event, Result


@dataclass(frozen=True)
class Lease:
    """How long a task may be held from now on: never past the end of the invocation that holds it.

    `reserve` is what the deadline kept back of the invocation. All in seconds.
    """

    seconds: float
    reserve: float
    deadline: Deadline

    def length(self) -> float:
        return min(self.seconds, self.deadline.left() + self.reserve)


@dataclass
class Journal:
    """The pen of the one run that holds a task. Its writes keep the lease, and the queue's message hidden as long.

    A write that lost its race raises ConflictError: somebody cancelled the task, or took it over.
    """

    tasks: Tasks
    head: Head
    files: TaskFiles
    lease: Lease
    queue: Continuations
    receipt: str = ""
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    _turns: list[Turn] = field(default_factory=list)
    _progress: str = ""
    _hidden_until: float = 0.0

    async def note(self, event: "Event") -> None:
        """Keeps what the event brings; at once, where it is urgent."""
        self._turns += event.turns
        from agentfn.loop import Progress

        if isinstance(event, Progress):
            self._progress = event.text
        if event.urgent:
            await self._save()

    async def end(self, result: "Result") -> None:
        """The last write of a task, or of a run that waits for its user: state, files and lease in one."""
        task, events = ended(self.head.task, result, self.files.records)
        await self._write(events, task=task, held=False)

    async def fail(self, reason: str) -> None:
        task, events = failed(self.head.task, reason)
        await self._write(events, task=task, held=False)

    async def suspend(self, resume_in: float, *, cut_off: bool = False) -> None:
        """Lets go of the task and asks for another run. In this order: a message that meets a lease has to wait.

        A run that was cut off leaves a lease that has ended, as one that died does: calls may be under way.
        """
        now = self.tasks.clock()
        await self._write(held=cut_off, lease_end=now if cut_off else now + resume_in)
        await self.queue.send(Continuation(self.head.owner, self.head.task.id, self.head.version, now), resume_in)

    async def publish(self, task: Task, events: list[StreamResponse]) -> bool:
        """Saves a task that an executor changed; whether it has ended or waits now, and is let go of."""
        over = task.status.state in TERMINAL | WAITING
        await self._write(events, task=task, held=not over, lease_end=self._until())
        return over

    async def keep(self, file: File) -> FileRecord:
        return await asyncio.to_thread(self.files.keep, file)

    async def lost(self) -> bool:
        """Whether somebody else wrote to the task since. One cheap read."""
        async with self.lock:
            seen = await self.tasks.watch(self.head)
            self.head = seen or self.head
            return seen is None

    async def renew(self) -> None:
        """Tells progress that no save has told yet, and keeps the lease when nothing was saved for a third of it."""
        if self._progress:
            await self._save()
        elif self._old(self.head.lease_end):
            await _whole(self._renew())
        if self._old(self._hidden_until):
            await self.hide()

    async def hide(self) -> None:
        """Keeps the queue's message hidden as long as the lease may last: it is this run's own insurance."""
        if not self.receipt:
            return
        self._hidden_until = self._until()
        try:
            await self.queue.hide(self.receipt, max(1.0, self.lease.length()))
        except (BotoCoreError, ClientError) as error:  # it comes back early, or has done so: it meets the lease
            logger.warning("the queue's message could not be hidden: %s", error, task_id=self.head.task.id)

    def _old(self, until: float) -> bool:
        """Whether it is worth a write to move that moment: by a third of a lease at least.

        Each move is an entry of the index of open tasks, and near the deadline there is nothing to be gained.
        """
        return self._until() - until >= self.lease.seconds / 3

    async def _save(self) -> None:
        text, self._progress = self._progress, ""
        kept: dict[str, Any] = {"lease_end": self._until()} if self._old(self.head.lease_end) else {}
        if not text:
            await self._write(**kept)
            return
        task, events = progressed(self.head.task, text)
        await self._write(events, task=task, **kept)

    async def _write(self, events: Iterable[StreamResponse] = (), **changes: Any) -> None:
        await _whole(self._commit(events, changes))

    async def _commit(self, events: Iterable[StreamResponse], changes: dict[str, Any]) -> None:
        async with self.lock:
            turns, self._turns = self._turns, []
            self.head = await self.tasks.save(
                self.head, turns=turns, events=events, files=self.files.records, **changes
            )

    async def _renew(self) -> None:
        async with self.lock:
            self.head = await self.tasks.renew(self.head, self._until())

    def _until(self) -> float:
        return self.tasks.clock() + self.lease.length()


async def _whole(write: Coroutine[Any, Any, None]) -> None:
    """A write that was begun is finished, even if whoever began it is cancelled: the next one must know its outcome."""
    task = asyncio.ensure_future(write)
    task.add_done_callback(lambda done: done.cancelled() or done.exception())  # seen, also when nobody waits any more
    await asyncio.shield(task)
