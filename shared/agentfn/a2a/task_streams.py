"""A task's events as a stream: from its log, so that it does not matter which invocation works on it."""

import asyncio
from collections.abc import AsyncGenerator, Coroutine
from typing import Any

from a2a.server.events.event_queue import Event
from a2a.types import Message, StreamResponse

from agentfn.a2a.outbound_task import bare_message, signed, signed_event
from agentfn.deadline import Deadline
from agentfn.runs.runner import Runner
from agentfn.store import Head
from agentfn.store.task_events import payload_of
from agentfn.store.task_record import TERMINAL, WAITING

NO_STREAMS = "this agent does not stream; send the message and poll the task"
HOLD_LOOKS = 4  # before an executor's task is shown
SHORTEST_LOOK, LONGEST_LOOK = 0.25, 2.0  # seconds between two looks at the log while another invocation works


class Streaming:
    """Streams of one agent. `working` are the runs that requests began here and that outlive their listeners."""

    def __init__(self, runner: Runner) -> None:
        self._tasks = runner.tasks
        self._bucket = runner.bucket
        self._holds = runner.engine is not None
        self._working: set[asyncio.Task[Any]] = set()

    async def follow(self, head: Head, deadline: Deadline) -> AsyncGenerator[Event]:
        """The task as it stands, then what happens to it: up to where it ends, waits, or this invocation must return.

        In the last case the stream ends without a terminal event, and whoever listens subscribes again.
        """
        if message := await self._message(head):
            yield message
            return
        yield signed(head.task, self._bucket)
        seen, over, pause = head.version, not head.open, SHORTEST_LOOK
        while not over and not deadline.passed:
            for version, events in await self._tasks.events(head.owner, head.task.id, after=seen):
                seen = version
                for event in events:
                    yield signed_event(event, self._bucket)
                    over = over or _ends(event)
                pause = SHORTEST_LOOK
            if not over:
                await self._tasks.bell.wait(head.task.id, deadline.limit(pause))
                pause = min(LONGEST_LOOK, pause * 1.5)

    async def _message(self, head: Head) -> Message | None:
        """What an executor answers that wants no task: then there is none to be shown. It has a moment to say so."""
        if not self._holds:
            return None
        now: Head | None = head
        for _ in range(HOLD_LOOKS):
            if now is None or not now.open:
                return bare_message(now.task) if now else None
            await self._tasks.bell.wait(head.task.id, SHORTEST_LOOK)
            now = await self._tasks.read(head.owner, head.task.id)
        return None

    def work(self, run: Coroutine[Any, Any, Any]) -> None:
        """Begins a run that goes on even if nobody listens any more."""
        task = asyncio.ensure_future(run)
        self._working.add(task)
        task.add_done_callback(self._working.discard)

    async def settle(self) -> None:
        """Returns when no run is going on here: nothing may be left behind in a process that is frozen next."""
        while self._working:
            await asyncio.wait(self._working)


def _ends(event: StreamResponse) -> bool:
    """Whether the task has ended with it, or waits."""
    payload = payload_of(event)
    return hasattr(payload, "status") and payload.status.state in TERMINAL | WAITING
