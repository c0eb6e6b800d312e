"""Runs a task that this invocation holds, and decides how the run ends."""

import asyncio
import contextlib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from agentfn.deadline import Deadline
from agentfn.errors import AgentfnError, AwsError, ConflictError
from agentfn.files import Bucket, TaskWorkspace
from agentfn.models import Turn
from agentfn.runs.engine import Engine
from agentfn.runs.journal import Journal, Lease
from agentfn.runs.run import Run
from agentfn.runs.work_queue import RECHECK_DELAY_SECONDS, Continuation, QueueMessage, WorkQueue
from agentfn.settings import Settings
from agentfn.store import TaskRecord, TaskStore
from agentfn.telemetry import logger

if TYPE_CHECKING:
    from agentfn.loop import LoopResult

WATCH_INTERVAL_SECONDS = 2.0
DEADLINE_GRACE_SECONDS = 0.5  # past the deadline, for an engine to stop by itself
CUT_OFF = "cut_off"  # the engine did not stop by itself: its calls may have taken effect unseen
LOOKUP_DELAYS_SECONDS = (0.0, 0.05, 0.15, 0.4)  # before each read of a task whose write may still come
RETRY_DELAY_SECONDS = 30.0  # until the queue delivers a message again that failed because of AWS

INTERNAL_ERROR_TEXT = "The agent failed with an internal error. Its log has the details under task {task_id}."
TOO_MANY_RUNS_TEXT = "The task was stopped after {runs} runs, the most that AGENTFN_MAX_RUNS allows."
NO_PROGRESS_TEXT = (
    "The task was stopped: {runs} runs in a row ended without finishing a step. Either they died, which the log tells, "
    "or a single model or tool call needs more time than one run has: then raise the function's timeout."
)
TIMEOUT_TEXT = "The task needs more time than one run of this function has, and an executor runs whole."


@dataclass(frozen=True)
class Runner:
    """Runs tasks with an engine. Of each run it saves the end: finished, failed, or suspended until another run."""

    task_store: TaskStore
    bucket: Bucket
    queue: WorkQueue
    engine: Engine
    settings: Settings

    async def resume(self, message: Continuation, deadline: Deadline) -> None:
        """Runs the task that a queue message names, if it needs a run. After a lost race it reads the task again.

        The message is sent anew where another run holds the task, and where the task is not written yet.
        """
        while (found := await self._load_task(message)) is not None:
            record, turns = found
            if not record.is_open:
                return
            if record.is_leased_at(self.task_store.clock()):
                await self.queue.send(message, record.lease_end - self.task_store.clock() + 1)
                return
            with contextlib.suppress(ConflictError):
                taken = await self.task_store.acquire_lease(
                    record, self.task_store.clock() + self.lease(deadline).duration()
                )
                await self.run(taken, turns, deadline, interrupted=record.leased, receipt_handle=message.receipt_handle)
                return
        if message.is_recent(self.task_store.clock()):
            await self.queue.send(message, RECHECK_DELAY_SECONDS)
            return
        logger.info("message dropped: the task version that it names was never written", task_id=message.task_id)

    async def release_message(self, message: QueueMessage) -> None:
        """Makes the message visible soon, before the queue's visibility timeout ends. Ignores errors of AWS."""
        with contextlib.suppress(AwsError):
            await self.queue.set_visibility(message.receipt_handle, RETRY_DELAY_SECONDS)

    async def enqueue_run(self, message: Continuation, delay_seconds: float = 0.0) -> None:
        """Asks the queue for a run of a task."""
        await self.queue.send(message, delay_seconds)

    def open_workspace(self, record: TaskRecord) -> TaskWorkspace:
        return TaskWorkspace(self.bucket, record.object_prefix, record.files)

    def lease(self, deadline: Deadline) -> Lease:
        return Lease(self.settings.run.lease_seconds, self.settings.run.reserve_seconds, deadline)

    async def run(
        self,
        record: TaskRecord,
        turns: Iterable[Turn],
        deadline: Deadline,
        *,
        interrupted: bool = False,
        receipt_handle: str = "",
    ) -> TaskRecord:
        """Works until the task ends, waits for its user, or the deadline comes. Returns the record as it is then.

        `interrupted` says that the run before may have died. Raises errors of AWS: the queue delivers the task again.
        """
        with self.open_workspace(record) as workspace:
            journal = Journal(self.task_store, record, workspace, self.lease(deadline), self.queue, receipt_handle)
            await journal.hide_message()
            logger.info("run started", task_id=record.task.id, run=record.run)
            await self._save_errors(Run(journal, list(turns), deadline, interrupted))
            return await self._latest_record(journal.record)

    async def _load_task(self, message: Continuation) -> tuple[TaskRecord, list[Turn]] | None:
        """The record and the transcript; None if the version that the message names is not written."""
        delays = LOOKUP_DELAYS_SECONDS if message.is_recent(self.task_store.clock()) else (0.0,)
        for delay in delays:
            await asyncio.sleep(delay)
            found = await self.task_store.read_with_turns(message.owner, message.task_id)
            if found is not None and found[0].version >= message.version:
                return found
        return None

    async def _latest_record(self, record: TaskRecord) -> TaskRecord:
        """The record, read again where another run has taken the task."""
        return (await self.task_store.read(record.owner, record.task.id) or record) if record.leased else record

    async def _save_errors(self, run: Run) -> None:
        """Runs the engine. Whatever it raises, except errors of AWS, fails the task."""
        task_id = run.journal.record.task.id
        try:
            await self._run_and_save(run)
        except ConflictError:
            logger.info("run stopped: the task was cancelled or taken over", task_id=task_id, run=run.number)
        except AwsError:
            logger.exception("a write to AWS failed; the queue delivers the task again", task_id=task_id)
            raise
        except AgentfnError as error:
            logger.warning("run failed: %s", error, task_id=task_id)
            await self._fail(run.journal, str(error))
        except Exception:  # noqa: BLE001 - the one place: any error of an agent's code fails its task
            logger.exception("run failed", task_id=task_id, run=run.number)
            await self._fail(run.journal, INTERNAL_ERROR_TEXT.format(task_id=task_id))

    async def _run_and_save(self, run: Run) -> None:
        journal = run.journal
        if reason := self._reached_limit(journal.record):
            await journal.save_failure(reason)
            return
        result = await self._race(run)
        if result is None:
            await self._clean_up(run)
        elif result.status != "suspended":
            await journal.save_result(result)
            logger.info("run ended", task_id=journal.record.task.id, status=result.status, reason=result.finish_reason)
        elif self.engine.can_suspend:
            logger.info("run suspended", task_id=journal.record.task.id, run=run.number)
            await journal.suspend(result.resume_in_seconds, cut_off=result.finish_reason == CUT_OFF)
        else:
            await journal.save_failure(TIMEOUT_TEXT)

    async def _race(self, run: Run) -> "LoopResult | None":
        """Runs the engine until it returns, the deadline passes, or another writer has changed the task.

        None where nothing is left to save: the task was cancelled or taken over, or the engine saved its end.
        """
        working = asyncio.ensure_future(self.engine.run(run))
        watching = asyncio.ensure_future(self._keep_lease(run.journal))
        timeout = run.deadline.remaining() + DEADLINE_GRACE_SECONDS
        try:
            await asyncio.wait({working, watching}, timeout=timeout, return_when=asyncio.FIRST_COMPLETED)
            if working.done():
                return working.result()
            if watching.done():
                watching.result()
                return None
            return _cut_off_result()
        finally:
            for task in (working, watching):
                task.cancel()
            await asyncio.wait({working, watching}, timeout=1.0)

    async def _keep_lease(self, journal: Journal) -> None:
        """Renews the lease until another writer has changed the task."""
        while True:
            await asyncio.sleep(WATCH_INTERVAL_SECONDS)
            if await journal.is_superseded():
                return
            await journal.heartbeat()

    async def _clean_up(self, run: Run) -> None:
        """Lets the engine clean up after a task that was cancelled or taken over: then the journal still holds it."""
        if run.journal.record.leased:
            async with asyncio.timeout(DEADLINE_GRACE_SECONDS):
                await self.engine.cancel(run)

    def _reached_limit(self, record: TaskRecord) -> str:
        """Why the task may not run again; empty if it may."""
        if record.run > self.settings.run.max_runs:
            return TOO_MANY_RUNS_TEXT.format(runs=self.settings.run.max_runs)
        if record.idle_runs > self.settings.run.max_idle_runs:
            return NO_PROGRESS_TEXT.format(runs=self.settings.run.max_idle_runs)
        return ""

    async def _fail(self, journal: Journal, reason: str) -> None:
        with contextlib.suppress(ConflictError):
            await journal.save_failure(reason)


def _cut_off_result() -> "LoopResult":
    from agentfn.loop import LoopResult  # imported when a task runs: requests that only read start faster

    return LoopResult("suspended", finish_reason=CUT_OFF)
