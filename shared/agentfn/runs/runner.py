"""What one invocation does for a task that it holds."""

import asyncio
import contextlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from botocore.exceptions import BotoCoreError, ClientError

from agentfn.agent import Agent
from agentfn.deadline import Deadline
from agentfn.errors import AgentfnError, ConflictError
from agentfn.files import Bucket, TaskFiles
from agentfn.loop.loop_limits import LoopLimits
from agentfn.models import Model, Turn
from agentfn.runs.executor_engine import TOO_LONG, Executing
from agentfn.runs.journal import Journal, Lease
from agentfn.runs.work_queue import LATER, Continuation, Continuations, Message
from agentfn.settings import Settings
from agentfn.store import Head, Tasks
from agentfn.telemetry import logger
from agentfn.tools.execution import Slots

if TYPE_CHECKING:
    from agentfn.loop import Result
    from agentfn.runs.task_context import TaskWork

WATCH_SECONDS = 2.0
GRACE = 0.5  # seconds past the deadline that a loop gets to notice it
CUT_OFF = "cut_off"  # the loop did not stop by itself: its calls may have taken effect unseen
SOON = (0.05, 0.15, 0.4)  # seconds between the first looks for it
BACK_SOON = 30.0  # seconds until a message comes again that AWS failed

BROKEN = "The agent failed with an internal error. Its log has the details under task {task_id}."
TOO_MANY = "The task was stopped after {runs} runs, the most that AGENTFN_MAX_RUNS allows."
STUCK = (
    "The task was stopped: {runs} runs in a row ended without finishing a step. Either they died, which the log tells, "
    "or a single model or tool call needs more time than one run has: then raise the function's timeout."
)


@dataclass(frozen=True)
class Runner:
    """`model` is called when the first question is asked, not before. An `executor` works in the place of the loop.
    `router` is the model that chooses among the agent's skills, where one does.
    """

    agent: Agent
    settings: Settings
    tasks: Tasks
    bucket: Bucket
    queue: Continuations
    model: Callable[[], Model]
    limits: LoopLimits
    slots: Slots
    executor: Executing | None = None
    router: Callable[[], Model] | None = None
    now: Callable[[], datetime] = field(default=lambda: datetime.now(UTC))

    async def resume(self, message: Continuation, deadline: Deadline) -> None:
        """Another run, if the task needs one. Losing a race means looking again at what is there."""
        while (found := await self._find(message)) is not None:
            head, turns = found
            if not head.open:
                return
            if head.held_at(self.tasks.clock()):
                await self.queue.send(message, head.lease_end - self.tasks.clock() + 1)
                return
            with contextlib.suppress(ConflictError):
                taken = await self.tasks.take(head, self.tasks.clock() + self.lease(deadline).length())
                await self.run(taken, turns, deadline, interrupted=head.held, receipt=message.receipt)
                return
        if message.young(self.tasks.clock()):
            await self.queue.send(message, LATER)
            return
        logger.info("what this continuation was for was never written; it is dropped", task_id=message.task_id)

    async def put_back(self, message: Message) -> None:
        """Has the message come again soon, not when the function's timeout is over, as far as AWS can be reached."""
        with contextlib.suppress(BotoCoreError, ClientError):
            await self.queue.hide(message.receipt, BACK_SOON)

    async def _find(self, message: Continuation) -> tuple[Head, list[Turn]] | None:
        """Head and transcript; None where the write that the message was sent for is not there."""
        for pause in (0.0, *(SOON if message.young(self.tasks.clock()) else ())):
            await asyncio.sleep(pause)
            found = await self.tasks.load(message.owner, message.task_id)
            if found is not None and found[0].version >= message.version:
                return found
        return None

    def lease(self, deadline: Deadline) -> Lease:
        return Lease(self.settings.lease_seconds, self.settings.reserve_seconds, deadline)

    async def run(
        self, head: Head, turns: Iterable[Turn], deadline: Deadline, *, interrupted: bool = False, receipt: str = ""
    ) -> Head:
        """Works until the task is done, waits, or the deadline comes, and returns the head as it is then.

        Raises what AWS raised where it could not be reached: the queue then brings the task back.
        """
        with TaskFiles(self.bucket, head.prefix, head.files) as files:
            journal = Journal(self.tasks, head, files, self.lease(deadline), self.queue, receipt)
            await journal.hide()
            logger.info("run started", task_id=head.task.id, run=head.run)
            try:
                await self._guarded(journal, list(turns), deadline, interrupted)
            except ConflictError:
                logger.info("the task was taken out of this run's hands", task_id=head.task.id, run=head.run)
            except (BotoCoreError, ClientError):
                logger.exception("AWS did not take a write; the queue brings the task back", task_id=head.task.id)
                raise
            except AgentfnError as error:
                logger.warning("run failed: %s", error, task_id=head.task.id)
                await self._fail(journal, str(error))
            except Exception:  # noqa: BLE001 - the one place: whatever broke, the task gets its end
                logger.exception("run failed", task_id=head.task.id, run=head.run)
                await self._fail(journal, BROKEN.format(task_id=head.task.id))
            return await self._left(journal.head)

    async def _left(self, head: Head) -> Head:
        """The head; read anew where somebody else has it now."""
        return (await self.tasks.read(head.owner, head.task.id) or head) if head.held else head

    async def _guarded(self, journal: Journal, turns: list[Turn], deadline: Deadline, interrupted: bool) -> None:
        if reason := self._worn_out(journal.head):
            await journal.fail(reason)
            return
        result = await self._raced(journal, turns, deadline, interrupted)
        if result is None:
            await self._let_go(journal)
        elif result.status == "suspended" and self.executor is not None:
            await journal.fail(TOO_LONG)
        elif result.status == "suspended":
            logger.info("out of time", task_id=journal.head.task.id, run=journal.head.run)
            await journal.suspend(result.resume_in, cut_off=result.finish_reason == CUT_OFF)
        else:
            await journal.end(result)
            logger.info("run ended", task_id=journal.head.task.id, status=result.status, reason=result.finish_reason)

    async def _let_go(self, journal: Journal) -> None:
        """The task is somebody else's by now, if this run did not end it itself. An executor may want to clean up."""
        if journal.head.held and self.executor is not None:
            async with asyncio.timeout(GRACE):
                await self.executor.cancel(journal, self.bucket)

    async def _raced(
        self, journal: Journal, turns: list[Turn], deadline: Deadline, interrupted: bool
    ) -> "Result | None":
        """The loop against the deadline, and against whoever else may write to the task.

        None where there is nothing left to write: the task was lost to somebody else, or an executor ended it.
        """
        playing = asyncio.ensure_future(self._play(journal, turns, deadline, interrupted))
        watching = asyncio.ensure_future(self._watch(journal))
        try:
            await asyncio.wait(
                {playing, watching}, timeout=deadline.left() + GRACE, return_when=asyncio.FIRST_COMPLETED
            )
            if playing.done():
                return playing.result()
            if watching.done():
                watching.result()
                return None
            return _suspended(CUT_OFF)
        finally:
            for task in (playing, watching):
                task.cancel()
            await asyncio.wait({playing, watching}, timeout=1.0)

    async def _play(
        self, journal: Journal, turns: list[Turn], deadline: Deadline, interrupted: bool
    ) -> "Result | None":
        if self.executor is not None:
            await self.executor.play(journal, self.bucket, interrupted=interrupted)
            return None
        from agentfn.loop.model_retry import OutOfTime

        work = self._work(journal, turns, deadline, interrupted)
        try:
            if self.router is not None:
                await work.route(self.agent, self.router)
        except OutOfTime as pause:
            return _suspended("out_of_time", pause.resume_in)
        return await work.done_by(self.agent)

    async def _watch(self, journal: Journal) -> None:
        """Returns when somebody else has written to the task; keeps the lease until then."""
        while True:
            await asyncio.sleep(WATCH_SECONDS)
            if await journal.lost():
                return
            await journal.renew()

    def _worn_out(self, head: Head) -> str:
        if head.run > self.settings.max_runs:
            return TOO_MANY.format(runs=self.settings.max_runs)
        if head.idle > self.settings.max_idle_runs:
            return STUCK.format(runs=self.settings.max_idle_runs)
        return ""

    async def _fail(self, journal: Journal, reason: str) -> None:
        with contextlib.suppress(ConflictError):
            await journal.fail(reason)

    def _work(self, journal: Journal, turns: list[Turn], deadline: Deadline, interrupted: bool) -> "TaskWork":
        from agentfn.loop import Loop  # not before a task runs: the read side is to start fast
        from agentfn.runs.task_context import TaskWork

        agent = self.agent
        loop = Loop(
            model=self.model(),
            tools=agent.registry,
            system=agent.system(self.now()),
            workspace=journal.files,
            deadline=deadline,
            slots=self.slots,
            task_id=journal.head.task.id,
            limits=self.limits,
            sampling=agent.sampling,
            protocol=self.settings.agent_protocol,
            force_first_tool=agent.force_first_tool,
            compact=agent.compact_tools,
            suspends=True,
        )
        return TaskWork(journal, turns, loop, self.settings.max_parallel_loops, interrupted)


def _suspended(reason: str, resume_in: float = 0.0) -> "Result":
    from agentfn.loop import Result

    return Result("suspended", finish_reason=reason, resume_in=resume_in)
