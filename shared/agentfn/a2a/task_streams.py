"""Streams of a task's events. They are read from the table, whichever invocation works on the task."""

import asyncio
from collections.abc import AsyncGenerator, Coroutine
from typing import Any

from a2a.server.events.event_queue import Event
from a2a.types import Message, StreamResponse

from agentfn.a2a.outbound_task import message_reply, presign_event, presign_task
from agentfn.call_context import CallContext
from agentfn.files import Bucket
from agentfn.store import TaskRecord, TaskStore
from agentfn.store.task_events import event_payload
from agentfn.store.task_record import TERMINAL_STATES, WAITING_STATES

STREAMING_UNSUPPORTED = "this agent does not stream; send the message and poll the task"
MESSAGE_REPLY_POLLS = 4
MIN_POLL_SECONDS, MAX_POLL_SECONDS = 0.25, 2.0  # between reads while another invocation works


class TaskStreams:
    """Streams events, and keeps the runs that streaming requests began: they go on if the client disconnects."""

    def __init__(self, task_store: TaskStore, bucket: Bucket, *, may_reply_with_message: bool) -> None:
        self._task_store = task_store
        self._bucket = bucket
        self._may_reply_with_message = may_reply_with_message
        self._background_runs: set[asyncio.Task[Any]] = set()

    async def follow(self, record: TaskRecord, call: CallContext) -> AsyncGenerator[Event]:
        """Yields the task, then its events until it ends, waits for input, or the deadline comes.

        At the deadline the stream ends without a final event; the client can subscribe again.
        """
        if message := await self._wait_for_message_reply(record):
            yield message
            return
        yield presign_task(record.task, self._bucket, call.base_url)
        last_version, is_over, pause = record.version, not record.is_open, MIN_POLL_SECONDS
        while not is_over and not call.deadline.passed:
            for version, events in await self._task_store.read_events(record.owner, record.task.id, after=last_version):
                last_version = version
                for event in events:
                    yield presign_event(event, self._bucket, call.base_url)
                    is_over = is_over or _is_final(event)
                pause = MIN_POLL_SECONDS
            if not is_over:
                await self._task_store.notifier.wait(record.task.id, call.deadline.limit(pause))
                pause = min(MAX_POLL_SECONDS, pause * 1.5)

    async def _wait_for_message_reply(self, record: TaskRecord) -> Message | None:
        """Waits a moment for an executor's reply with a message. If it comes, the client is shown no task."""
        if not self._may_reply_with_message:
            return None
        latest: TaskRecord | None = record
        for _ in range(MESSAGE_REPLY_POLLS):
            if latest is None or not latest.is_open:
                return message_reply(latest.task) if latest else None
            await self._task_store.notifier.wait(record.task.id, MIN_POLL_SECONDS)
            latest = await self._task_store.read(record.owner, record.task.id)
        return None

    def run_in_background(self, run: Coroutine[Any, Any, Any]) -> None:
        """Starts a run that goes on if the client disconnects."""
        task = asyncio.ensure_future(run)
        self._background_runs.add(task)
        task.add_done_callback(self._background_runs.discard)

    async def drain(self) -> None:
        """Waits for all background runs. Lambda freezes the process after the invocation."""
        while self._background_runs:
            await asyncio.wait(self._background_runs)


def _is_final(event: StreamResponse) -> bool:
    """Returns whether the task ended or waits after this event."""
    payload = event_payload(event)
    return hasattr(payload, "status") and payload.status.state in TERMINAL_STATES | WAITING_STATES
