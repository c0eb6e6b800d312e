"""The interface of the task store: everything that the rest of agentfn reads and writes of tasks."""

from collections.abc import Awaitable, Callable, Iterable
from typing import Protocol, Unpack

from a2a.types import ListTasksRequest, ListTasksResponse, StreamResponse, Task

from agentfn.models import Turn
from agentfn.store.push_store import PushStore, PushSubscription
from agentfn.store.task_notifier import TaskNotifier
from agentfn.store.task_record import MessageRecord, RecordChanges, TaskRecord

EnqueuePush = Callable[[TaskRecord, float], Awaitable[None]]


class TaskStore(Protocol):
    """The tasks of one agent.

    `clock` gives seconds since 1970. `notifier` is notified of each save. Every method raises AwsError where
    AWS cannot be reached or refuses the request, and a reading method StoredDataError for a task that a later
    version of agentfn wrote.
    """

    agent: str
    clock: Callable[[], float]
    notifier: TaskNotifier
    push_store: PushStore

    async def create(
        self,
        record: TaskRecord,
        messages: Iterable[MessageRecord] = (),
        turns: Iterable[Turn] = (),
        subscription: PushSubscription | None = None,
    ) -> TaskRecord:
        """Writes a new task with its first turns, the records of its message, and its first push subscription.

        Raises ConflictError where the task or one of the messages is on record.
        """

    async def read(self, owner: str, task_id: str) -> TaskRecord | None:
        """The record, in one request. None where there is no such task or it has expired."""

    async def read_with_turns(self, owner: str, task_id: str) -> tuple[TaskRecord, list[Turn]] | None:
        """The record and the transcript, in one query of as many pages as it takes."""

    async def read_many(self, owner: str, task_ids: Iterable[str]) -> list[TaskRecord]:
        """The records that exist, in no order. One that a later version of agentfn wrote is skipped and logged."""

    async def read_if_unchanged(self, record: TaskRecord) -> TaskRecord | None:
        """The record with a new `has_push`, if nobody else has saved it since; otherwise None. The cheapest read."""

    async def read_events(self, owner: str, task_id: str, *, after: int) -> list[tuple[int, list[StreamResponse]]]:
        """The version and the events of each save after that version, in order."""

    async def find_message(self, owner: str, message_id: str) -> MessageRecord | None: ...

    async def find_in_context(self, owner: str, context_id: str, limit: int) -> list[str]:
        """The ids of the newest tasks of a context, newest first. A task of this moment may be missing."""

    async def find_abandoned(self, before: float, limit: int) -> list[tuple[str, str]]:
        """Owner and id of the open tasks whose `lease_end` is before that time, oldest first."""

    async def list_page(
        self, params: ListTasksRequest, owner: str, view: Callable[[Task], Task] = lambda task: task
    ) -> ListTasksResponse:
        """One page of the owner's tasks, newest status first; `view` makes what is shown of a task.

        Raises InvalidParamsError for a page token that this list did not give out.
        """

    async def acquire_lease(self, record: TaskRecord, lease_end: float) -> TaskRecord:
        """Leases the task to a run with the next number. A submitted task is working from then on.

        Raises ConflictError where somebody else wrote since the record was read.
        """

    async def renew_lease(self, record: TaskRecord, lease_end: float) -> TaskRecord:
        """Raises ConflictError where somebody else wrote since the record was read."""

    async def save(
        self,
        record: TaskRecord,
        *,
        turns: Iterable[Turn] = (),
        events: Iterable[StreamResponse] = (),
        messages: Iterable[MessageRecord] = (),
        **changes: Unpack[RecordChanges],
    ) -> TaskRecord:
        """Appends turns and changes fields of the record. A changed `task` makes a new version, which `events` get.

        Raises ConflictError where somebody else wrote since the record was read, and where the task has ended.
        """

    async def delete(self, record: TaskRecord) -> None:
        """Deletes the record. The task's other items cannot be reached without it, and expire."""
