"""The scheduled sweep: finds open tasks that no run works on, and runs them again or fails them."""

import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass

from agentfn.deadline import Deadline
from agentfn.errors import ConflictError, StoredDataError
from agentfn.runs.task_updates import failure_update
from agentfn.runs.work_queue import Continuation, DeadLetterQueue, WorkQueue
from agentfn.store import TaskRecord, TaskStore
from agentfn.telemetry import logger

ABANDONED_AFTER_SECONDS = 60.0  # past the end of the lease: the task's own message comes first
RECHECK_AFTER_SECONDS = 600.0  # until a requeued task is swept again: its message may wait in a long queue
MAX_SWEPT_COUNT = 200  # tasks in one sweep
DEAD_LETTER_TEXT = (
    "The task was given up: its run broke off again and again. The agent's log says why, and the message is in the "
    "dead-letter queue."
)


@dataclass(frozen=True)
class Sweep:
    """Sweeps the tasks of one agent. `dead_letters` is None where the deployment has no dead-letter queue."""

    task_store: TaskStore
    queue: WorkQueue
    dead_letters: DeadLetterQueue | None

    async def run(self, deadline: Deadline) -> dict[str, int]:
        """Returns how many tasks it failed ("ended") and requeued ("resumed"). The next sweep finds the rest."""
        ended = [task_id async for task_id in self._fail_dead_lettered(deadline)]
        resumed = [task_id async for task_id in self._requeue_abandoned(deadline)]
        if ended or resumed:
            logger.warning("the sweep found abandoned tasks", ended=ended, resumed=resumed)
        return {"ended": len(ended), "resumed": len(resumed)}

    async def _fail_dead_lettered(self, deadline: Deadline) -> AsyncIterator[str]:
        """Fails the tasks of dead letters. The messages stay in their queue: the operator's alarm counts them."""
        for message in await self.dead_letters.read(MAX_SWEPT_COUNT) if self.dead_letters else ():
            if deadline.passed:
                return
            record = await self._find_unheld(message.owner, message.task_id)
            if record is None:
                continue
            task, events = failure_update(record.task, DEAD_LETTER_TEXT)
            with contextlib.suppress(ConflictError):
                await self.task_store.save(record, task=task, events=events, leased=False)
                yield record.task.id

    async def _requeue_abandoned(self, deadline: Deadline) -> AsyncIterator[str]:
        now = self.task_store.clock()
        for owner, task_id in await self.task_store.find_abandoned(now - ABANDONED_AFTER_SECONDS, MAX_SWEPT_COUNT):
            if deadline.passed:
                return
            record = await self._find_unheld(owner, task_id)
            if record is None:
                continue
            await self.queue.send(Continuation(owner, task_id, record.version, now))
            yield task_id
            if not record.leased:  # a leased record says that its run died, and its lease stays as it is
                with contextlib.suppress(ConflictError):
                    await self.task_store.renew_lease(record, now + RECHECK_AFTER_SECONDS)

    async def _find_unheld(self, owner: str, task_id: str) -> TaskRecord | None:
        """The record of an open task that no run holds; None for any other."""
        try:
            record = await self.task_store.read(owner, task_id)
        except StoredDataError as error:  # written by a later version of agentfn, which can read it
            logger.error("task not swept: %s", error, task_id=task_id)
            return None
        return record if record and record.is_open and not record.is_leased_at(self.task_store.clock()) else None
