"""The backstop: on a schedule, finds the tasks that nobody has in hand, whatever became of their messages."""

import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass

from agentfn.deadline import Deadline
from agentfn.errors import ConflictError, StoredDataError
from agentfn.runs.runner import Runner
from agentfn.runs.task_updates import failure_update
from agentfn.runs.work_queue import Continuation, DeadLetterQueue
from agentfn.store import TaskRecord
from agentfn.telemetry import logger

ABANDONED_AFTER_SECONDS = (
    60.0  # seconds past a lease's end before a task counts as abandoned: its own message comes first
)
RECHECK_AFTER_SECONDS = (
    600.0  # seconds until a task whose run was asked for is looked at again: its message may stand in line
)
MAX_SWEPT_COUNT = 200  # tasks in one sweep
DEAD_LETTER_TEXT = (
    "The task was given up: its run broke off again and again. The agent's log says why, and the message is in the "
    "dead-letter queue."
)


@dataclass(frozen=True)
class Sweep:
    """`dead_letters` is None where the deployment has no such queue."""

    runner: Runner
    dead_letters: DeadLetterQueue | None

    async def run(self, deadline: Deadline) -> dict[str, int]:
        """How many tasks were ended, and how many are to be run again. What it has no time for, the next one finds."""
        ended = [task_id async for task_id in self._fail_dead_lettered(deadline)]
        resumed = [task_id async for task_id in self._requeue_abandoned(deadline)]
        if ended or resumed:
            logger.warning("the sweep found tasks that nobody had in hand", ended=ended, resumed=resumed)
        return {"ended": len(ended), "resumed": len(resumed)}

    async def _fail_dead_lettered(self, deadline: Deadline) -> AsyncIterator[str]:
        """Ends the tasks of dead letters. The letters stay: they are the operator's, and the alarm goes by them."""
        for message in await self.dead_letters.read(MAX_SWEPT_COUNT) if self.dead_letters else ():
            if deadline.passed:
                return
            head = await self._find_unheld(message.owner, message.task_id)
            if head is None:
                continue
            task, events = failure_update(head.task, DEAD_LETTER_TEXT)
            with contextlib.suppress(ConflictError):
                await self.runner.tasks.save(head, task=task, events=events, held=False)
                yield head.task.id

    async def _requeue_abandoned(self, deadline: Deadline) -> AsyncIterator[str]:
        now = self.runner.tasks.clock()
        for owner, task_id in await self.runner.tasks.find_abandoned(now - ABANDONED_AFTER_SECONDS, MAX_SWEPT_COUNT):
            if deadline.passed:
                return
            head = await self._find_unheld(owner, task_id)
            if head is None:
                continue
            await self.runner.queue.send(Continuation(owner, task_id, head.version, now))
            yield task_id
            if not head.held:  # the lease of a run that died stays as it is: it says that it died
                with contextlib.suppress(ConflictError):
                    await self.runner.tasks.renew_lease(head, now + RECHECK_AFTER_SECONDS)

    async def _find_unheld(self, owner: str, task_id: str) -> TaskRecord | None:
        """The head, if the task needs a run and no run has it."""
        try:
            head = await self.runner.tasks.read(owner, task_id)
        except StoredDataError as error:  # a later agentfn's task: left for it
            logger.error("not swept: %s", error, task_id=task_id)
            return None
        return head if head and head.is_open and not head.is_leased_at(self.runner.tasks.clock()) else None
