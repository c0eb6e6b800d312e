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
from agentfn.files import Bucket, TaskWorkspace
from agentfn.loop.loop_limits import LoopLimits
from agentfn.models import Model, Turn
from agentfn.runs.executor_engine import EXECUTOR_TIMEOUT_TEXT, ExecutorEngine
from agentfn.runs.journal import Journal, Lease
from agentfn.runs.work_queue import RECHECK_DELAY_SECONDS, Continuation, QueueMessage, WorkQueue
from agentfn.settings import Settings
from agentfn.store import TaskRecord, TaskStore
from agentfn.telemetry import logger
from agentfn.tools.execution import ConcurrencyLimiter

if TYPE_CHECKING:
    from agentfn.loop import LoopResult
    from agentfn.runs.task_context import LoopTaskContext

WATCH_INTERVAL_SECONDS = 2.0
DEADLINE_GRACE_SECONDS = 0.5  # seconds past the deadline that a loop gets to notice it
CUT_OFF = "cut_off"  # the loop did not stop by itself: its calls may have taken effect unseen
LOOKUP_DELAYS_SECONDS = (0.05, 0.15, 0.4)  # seconds between the first looks for it
RETRY_DELAY_SECONDS = 30.0  # seconds until a message comes again that AWS failed

INTERNAL_ERROR_TEXT = "The agent failed with an internal error. Its log has the details under task {task_id}."
TOO_MANY_RUNS_TEXT = "The task was stopped after {runs} runs, the most that AGENTFN_MAX_RUNS allows."
NO_PROGRESS_TEXT = (
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
    tasks: TaskStore
    bucket: Bucket
    queue: WorkQueue
    get_model: Callable[[], Model]
    limits: LoopLimits
    limiter: ConcurrencyLimiter
    engine: ExecutorEngine | None = None
    get_router_model: Callable[[], Model] | None = None
    now: Callable[[], datetime] = field(default=lambda: datetime.now(UTC))

    async def resume(self, message: Continuation, deadline: Deadline) -> None:
        """Another run, if the task needs one. Losing a race means looking again at what is there."""
        while (found := await self._load_task(message)) is not None:
            head, turns = found
            if not head.is_open:
                return
            if head.is_leased_at(self.tasks.clock()):
                await self.queue.send(message, head.lease_end - self.tasks.clock() + 1)
                return
            with contextlib.suppress(ConflictError):
                taken = await self.tasks.acquire_lease(head, self.tasks.clock() + self.lease(deadline).duration())
                await self.run(taken, turns, deadline, interrupted=head.held, receipt_handle=message.receipt_handle)
                return
        if message.is_recent(self.tasks.clock()):
            await self.queue.send(message, RECHECK_DELAY_SECONDS)
            return
        logger.info("what this continuation was for was never written; it is dropped", task_id=message.task_id)

    async def release_message(self, message: QueueMessage) -> None:
        """Has the message come again soon, not when the function's timeout is over, as far as AWS can be reached."""
        with contextlib.suppress(BotoCoreError, ClientError):
            await self.queue.set_visibility(message.receipt_handle, RETRY_DELAY_SECONDS)

    async def _load_task(self, message: Continuation) -> tuple[TaskRecord, list[Turn]] | None:
        """Head and transcript; None where the write that the message was sent for is not there."""
        for pause in (0.0, *(LOOKUP_DELAYS_SECONDS if message.is_recent(self.tasks.clock()) else ())):
            await asyncio.sleep(pause)
            found = await self.tasks.read_with_turns(message.owner, message.task_id)
            if found is not None and found[0].version >= message.version:
                return found
        return None

    def lease(self, deadline: Deadline) -> Lease:
        return Lease(self.settings.lease_seconds, self.settings.reserve_seconds, deadline)

    async def run(
        self,
        record: TaskRecord,
        turns: Iterable[Turn],
        deadline: Deadline,
        *,
        interrupted: bool = False,
        receipt_handle: str = "",
    ) -> TaskRecord:
        """Works until the task is done, waits, or the deadline comes, and returns the head as it is then.

        Raises what AWS raised where it could not be reached: the queue then brings the task back.
        """
        with TaskWorkspace(self.bucket, record.object_prefix, record.files) as files:
            journal = Journal(self.tasks, record, files, self.lease(deadline), self.queue, receipt_handle)
            await journal.hide_message()
            logger.info("run started", task_id=record.task.id, run=record.run)
            try:
                await self._run_and_save(journal, list(turns), deadline, interrupted)
            except ConflictError:
                logger.info("the task was taken out of this run's hands", task_id=record.task.id, run=record.run)
            except (BotoCoreError, ClientError):
                logger.exception("AWS did not take a write; the queue brings the task back", task_id=record.task.id)
                raise
            except AgentfnError as error:
                logger.warning("run failed: %s", error, task_id=record.task.id)
                await self._fail(journal, str(error))
            except Exception:  # noqa: BLE001 - the one place: whatever broke, the task gets its end
                logger.exception("run failed", task_id=record.task.id, run=record.run)
                await self._fail(journal, INTERNAL_ERROR_TEXT.format(task_id=record.task.id))
            return await self._latest_record(journal.record)

    async def _latest_record(self, record: TaskRecord) -> TaskRecord:
        """The head; read anew where somebody else has it now."""
        return (await self.tasks.read(record.owner, record.task.id) or record) if record.held else record

    async def _run_and_save(self, journal: Journal, turns: list[Turn], deadline: Deadline, interrupted: bool) -> None:
        if reason := self._reached_limit(journal.record):
            await journal.save_failure(reason)
            return
        result = await self._race(journal, turns, deadline, interrupted)
        if result is None:
            await self._clean_up_executor(journal)
        elif result.status == "suspended" and self.engine is not None:
            await journal.save_failure(EXECUTOR_TIMEOUT_TEXT)
        elif result.status == "suspended":
            logger.info("out of time", task_id=journal.record.task.id, run=journal.record.run)
            await journal.suspend(result.resume_in_seconds, cut_off=result.finish_reason == CUT_OFF)
        else:
            await journal.save_result(result)
            logger.info("run ended", task_id=journal.record.task.id, status=result.status, reason=result.finish_reason)

    async def _clean_up_executor(self, journal: Journal) -> None:
        """The task is somebody else's by now, if this run did not end it itself. An executor may want to clean up."""
        if journal.record.held and self.engine is not None:
            async with asyncio.timeout(DEADLINE_GRACE_SECONDS):
                await self.engine.cancel(journal, self.bucket)

    async def _race(
        self, journal: Journal, turns: list[Turn], deadline: Deadline, interrupted: bool
    ) -> "LoopResult | None":
        """The loop against the deadline, and against whoever else may write to the task.

        None where there is nothing left to write: the task was lost to somebody else, or an executor ended it.
        """
        playing = asyncio.ensure_future(self._run_engine(journal, turns, deadline, interrupted))
        watching = asyncio.ensure_future(self._keep_lease(journal))
        try:
            await asyncio.wait(
                {playing, watching},
                timeout=deadline.remaining() + DEADLINE_GRACE_SECONDS,
                return_when=asyncio.FIRST_COMPLETED,
            )
            if playing.done():
                return playing.result()
            if watching.done():
                watching.result()
                return None
            return _suspended_result(CUT_OFF)
        finally:
            for task in (playing, watching):
                task.cancel()
            await asyncio.wait({playing, watching}, timeout=1.0)

    async def _run_engine(
        self, journal: Journal, turns: list[Turn], deadline: Deadline, interrupted: bool
    ) -> "LoopResult | None":
        if self.engine is not None:
            await self.engine.run(journal, self.bucket, interrupted=interrupted)
            return None
        from agentfn.loop.model_retry import DeadlineReached

        work = self._task_context(journal, turns, deadline, interrupted)
        try:
            if self.get_router_model is not None:
                await work.select_skill(self.agent, self.get_router_model)
        except DeadlineReached as pause:
            return _suspended_result("out_of_time", pause.resume_in_seconds)
        return await work.run_agent(self.agent)

    async def _keep_lease(self, journal: Journal) -> None:
        """Returns when somebody else has written to the task; keeps the lease until then."""
        while True:
            await asyncio.sleep(WATCH_INTERVAL_SECONDS)
            if await journal.is_superseded():
                return
            await journal.heartbeat()

    def _reached_limit(self, record: TaskRecord) -> str:
        if record.run > self.settings.max_runs:
            return TOO_MANY_RUNS_TEXT.format(runs=self.settings.max_runs)
        if record.idle > self.settings.max_idle_runs:
            return NO_PROGRESS_TEXT.format(runs=self.settings.max_idle_runs)
        return ""

    async def _fail(self, journal: Journal, reason: str) -> None:
        with contextlib.suppress(ConflictError):
            await journal.save_failure(reason)

    def _task_context(
        self, journal: Journal, turns: list[Turn], deadline: Deadline, interrupted: bool
    ) -> "LoopTaskContext":
        from agentfn.loop import AgentLoop  # not before a task runs: the read side is to start fast
        from agentfn.runs.task_context import LoopTaskContext

        agent = self.agent
        loop = AgentLoop(
            model=self.get_model(),
            tools=agent.registry,
            system_prompt=agent.system_prompt(self.now()),
            workspace=journal.files,
            deadline=deadline,
            limiter=self.limiter,
            task_id=journal.record.task.id,
            limits=self.limits,
            sampling=agent.sampling,
            tool_protocol=self.settings.agent_protocol,
            force_first_tool=agent.force_first_tool,
            compact_schemas=agent.compact_tools,
            can_suspend=True,
        )
        return LoopTaskContext(journal, turns, loop, self.settings.max_parallel_loops, interrupted)


def _suspended_result(reason: str, resume_in_seconds: float = 0.0) -> "LoopResult":
    from agentfn.loop import LoopResult

    return LoopResult("suspended", finish_reason=reason, resume_in_seconds=resume_in_seconds)
