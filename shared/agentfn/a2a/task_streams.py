"""A task's events as a stream: from its log, so that it does not matter which invocation works on it."""

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
MESSAGE_REPLY_POLLS = 4  # before an executor's task is shown
MIN_POLL_SECONDS, MAX_POLL_SECONDS = 0.25, 2.0  # seconds between two looks at the log while another invocation works


class TaskStreams:
    """Streams of one agent. `working` are the runs that requests began here and that outlive their listeners."""

    def __init__(self, task_store: TaskStore, bucket: Bucket, *, may_reply_with_message: bool) -> None:
        self._task_store = task_store
        self._bucket = bucket
        self._may_reply_with_message = may_reply_with_message
        self._background_runs: set[asyncio.Task[Any]] = set()

    async def follow(self, head: TaskRecord, call: CallContext) -> AsyncGenerator[Event]:
        """The task as it stands, then what happens to it: up to where it ends, waits, or this invocation must return.

        In the last case the stream ends without a terminal event, and whoever listens subscribes again.
        """
        if message := await self._wait_for_message_reply(head):
            yield message
            return
        yield presign_task(head.task, self._bucket, call.base_url)
        seen, over, pause = head.version, not head.is_open, MIN_POLL_SECONDS
        while not over and not call.deadline.passed:
            for version, events in await self._task_store.read_events(head.owner, head.task.id, after=seen):
                seen = version
                for event in events:
                    yield presign_event(event, self._bucket, call.base_url)
                    over = over or _is_final(event)
                pause = MIN_POLL_SECONDS
            if not over:
                await self._task_store.notifier.wait(head.task.id, call.deadline.limit(pause))
                pause = min(MAX_POLL_SECONDS, pause * 1.5)

    async def _wait_for_message_reply(self, head: TaskRecord) -> Message | None:
        """What an executor answers that wants no task: then there is none to be shown. It has a moment to say so."""
        if not self._may_reply_with_message:
            return None
        now: TaskRecord | None = head
        for _ in range(MESSAGE_REPLY_POLLS):
            if now is None or not now.is_open:
                return message_reply(now.task) if now else None
            await self._task_store.notifier.wait(head.task.id, MIN_POLL_SECONDS)
            now = await self._task_store.read(head.owner, head.task.id)
        return None

    def run_in_background(self, run: Coroutine[Any, Any, Any]) -> None:
        """Begins a run that goes on even if nobody listens any more."""
        task = asyncio.ensure_future(run)
        self._background_runs.add(task)
        task.add_done_callback(self._background_runs.discard)

    async def drain(self) -> None:
        """Returns when no run is going on here: nothing may be left behind in a process that is frozen next."""
        while self._background_runs:
            await asyncio.wait(self._background_runs)


def _is_final(event: StreamResponse) -> bool:
    """Whether the task has ended with it, or waits."""
    payload = event_payload(event)
    return hasattr(payload, "status") and payload.status.state in TERMINAL_STATES | WAITING_STATES
