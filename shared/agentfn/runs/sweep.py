"""The backstop: on a schedule, finds the tasks that nobody has in hand, whatever became of their messages."""

import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass

from agentfn.deadline import Deadline
from agentfn.errors import ConflictError, StorageError
from agentfn.runs.runner import Runner
from agentfn.runs.task_updates import failed
from agentfn.runs.work_queue import Continuation, DeadLetters
from agentfn.store import Head
from agentfn.telemetry import logger

SLACK = 60.0  # seconds past a lease's end before a task counts as abandoned: its own message comes first
REST = 600.0  # seconds until a task whose run was asked for is looked at again: its message may stand in line
MOST = 200  # tasks in one sweep
DEAD = (
    "The task was given up: its run broke off again and again. The agent's log says why, and the message is in the "
    "dead-letter queue."
)


@dataclass(frozen=True)
class Sweep:
    """`dead_letters` is None where the deployment has no such queue."""

    runner: Runner
    dead_letters: DeadLetters | None

    async def run(self, deadline: Deadline) -> dict[str, int]:
        """How many tasks were ended, and how many are to be run again. What it has no time for, the next one finds."""
        ended = [task_id async for task_id in self._bury(deadline)]
        resumed = [task_id async for task_id in self._wake(deadline)]
        if ended or resumed:
            logger.warning("the sweep found tasks that nobody had in hand", ended=ended, resumed=resumed)
        return {"ended": len(ended), "resumed": len(resumed)}

    async def _bury(self, deadline: Deadline) -> AsyncIterator[str]:
        """Ends the tasks of dead letters. The letters stay: they are the operator's, and the alarm goes by them."""
        for message in await self.dead_letters.read(MOST) if self.dead_letters else ():
            if deadline.passed:
                return
            head = await self._open(message.owner, message.task_id)
            if head is None:
                continue
            task, events = failed(head.task, DEAD)
            with contextlib.suppress(ConflictError):
                await self.runner.tasks.save(head, task=task, events=events, held=False)
                yield head.task.id

    async def _wake(self, deadline: Deadline) -> AsyncIterator[str]:
        now = self.runner.tasks.clock()
        for owner, task_id in await self.runner.tasks.abandoned(now - SLACK, MOST):
            if deadline.passed:
                return
            head = await self._open(owner, task_id)
            if head is None:
                continue
            await self.runner.queue.send(Continuation(owner, task_id, head.version, now))
            yield task_id
            if not head.held:  # the lease of a run that died stays as it is: it says that it died
                with contextlib.suppress(ConflictError):
                    await self.runner.tasks.renew(head, now + REST)

    async def _open(self, owner: str, task_id: str) -> Head | None:
        """The head, if the task needs a run and no run has it."""
        try:
            head = await self.runner.tasks.read(owner, task_id)
        except StorageError as error:  # a later agentfn's task: left for it
            logger.error("not swept: %s", error, task_id=task_id)
            return None
        return head if head and head.open and not head.held_at(self.runner.tasks.clock()) else None
