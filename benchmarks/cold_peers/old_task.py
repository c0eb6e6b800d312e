"""A task in a store of a2a-sdk 0.3, for the frameworks that are built on that."""

import asyncio
from typing import Any

from a2a.types import Task, TaskState, TaskStatus


def put(store: Any, task_id: str) -> None:
    task = Task(id=task_id, context_id="context", status=TaskStatus(state=TaskState.completed))
    asyncio.run(store.save(task))
    asyncio.set_event_loop(asyncio.new_event_loop())  # the one that Mangum asks for
