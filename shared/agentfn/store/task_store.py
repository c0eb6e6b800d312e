"""The one door for writes, and the reads that go with it.

Every change of a task is one transaction: its head, on the condition that nobody changed it since it was read, the new
turns of its transcript, and the events that the change makes. Losing the race raises ConflictError and changes nothing;
what is in the table has won.
"""

import asyncio
import dataclasses
import json
import time
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from typing import Any

from a2a.types import StreamResponse, Task, TaskState, TaskStatus

from agentfn.errors import ConflictError
from agentfn.models import Turn
from agentfn.store import table_keys
from agentfn.store.payload_codec import MAX_INLINE_BYTES, PayloadCodec
from agentfn.store.table import Item, Table, item_key
from agentfn.store.task_events import now_timestamp, snapshot_event, status_event
from agentfn.store.task_notifier import TaskNotifier
from agentfn.store.task_record import TaskRecord
from agentfn.store.transactions import (
    TransactionAction,
    put_events,
    put_message,
    put_task,
    put_turns,
    read_events,
    update_task,
)

MAX_TURNS_PER_WRITE = 90  # a transaction takes 100 actions
MAX_CHARS_PER_WRITE = 2_000_000  # characters of turns; a transaction takes 4 MB, and a turn's item is 300 KB at most


@dataclass(frozen=True)
class MessageRecord:
    """Which task a client's message went to; `digest` tells the same message from another one of that id."""

    message_id: str
    task_id: str
    digest: str


class TaskStore:
    """The tasks of one agent. `clock` is in seconds since 1970.

    `enqueue_push` gets each record whose events have subscribers, with the time, before it is written: no event is
    lost then. The write may still fail.
    """

    def __init__(
        self,
        table: Table,
        codec: PayloadCodec,
        agent: str,
        retention_days: int,
        clock: Callable[[], float] = time.time,
        enqueue_push: Callable[[TaskRecord, float], Awaitable[None]] | None = None,
    ) -> None:
        self.table = table
        self.codec = codec
        self.agent = agent
        self.clock = clock
        self.notifier = TaskNotifier()
        self._enqueue_push = enqueue_push
        self._retention_seconds = retention_days * 24 * 3600

    async def create(
        self,
        record: TaskRecord,
        messages: Iterable[MessageRecord] = (),
        turns: Iterable[Turn] = (),
        subscription_items: Callable[[TaskRecord], list[Item]] | None = None,
    ) -> TaskRecord:
        """A new task, with the records of the message that asked for it, and the items of who is to be told of it.

        Raises ConflictError where the task or one of those records is there already.
        """
        turns = list(turns)
        record = dataclasses.replace(record, expires=int(self.clock()) + self._retention_seconds, turns=len(turns))
        record = dataclasses.replace(record, pushes=bool(subscription_items))
        subscribed: list[TransactionAction] = (
            [{"Put": {"Item": item}} for item in subscription_items(record)] if subscription_items else []
        )
        if self._enqueue_push and subscription_items:
            await self._enqueue_push(record, self.clock())
        creation = await asyncio.to_thread(self._create_actions, record, list(messages), turns)
        await self.table.write(*creation, *subscribed)
        return record

    async def read(self, owner: str, task_id: str) -> TaskRecord | None:
        """The head, in one read. Expired counts as absent."""
        item = await self.table.get(table_keys.task_partition(self.agent, owner, task_id), table_keys.TASK_SORT_KEY)
        return await self._read_record(item, owner)

    async def read_with_turns(self, owner: str, task_id: str) -> tuple[TaskRecord, list[Turn]] | None:
        """The head and the transcript, in one query (of as many pages as it takes)."""
        items = await self.table.query_all(
            KeyConditionExpression="pk = :pk AND sk BETWEEN :head AND :end",
            ExpressionAttributeValues={
                ":pk": {"S": table_keys.task_partition(self.agent, owner, task_id)},
                ":head": {"S": table_keys.TASK_SORT_KEY},
                ":end": {"S": table_keys.TURN_PREFIX + "~"},
            },
            ConsistentRead=True,
        )
        head = await self._read_record(
            next((item for item in items if item["sk"]["S"] == table_keys.TASK_SORT_KEY), None), owner
        )
        if head is None:
            return None
        # Turns that the head does not count came after it, or belong to a task of this id that was deleted.
        stored = [item["turn"] for item in items if item["sk"]["S"].startswith(table_keys.TURN_PREFIX)][: head.turns]
        texts = await asyncio.to_thread(lambda: [self.codec.decode(turn) for turn in stored])
        return head, [Turn.from_json(json.loads(text)) for text in texts]

    async def read_events(self, owner: str, task_id: str, *, after: int) -> list[tuple[int, list[StreamResponse]]]:
        """Version and events of each change after that version, in order."""
        items = await self.table.query_all(
            KeyConditionExpression="pk = :pk AND sk BETWEEN :first AND :end",
            ExpressionAttributeValues={
                ":pk": {"S": table_keys.task_partition(self.agent, owner, task_id)},
                ":first": {"S": table_keys.event_sort_key(after + 1)},
                ":end": {"S": table_keys.EVENT_PREFIX + "~"},
            },
            ConsistentRead=True,
        )
        return await asyncio.to_thread(lambda: [read_events(item, self.codec) for item in items])

    async def find_message(self, owner: str, message_id: str) -> MessageRecord | None:
        item = await self.table.get(
            table_keys.message_partition(self.agent, owner, message_id), table_keys.MESSAGE_SORT_KEY
        )
        if item is None or self._is_expired(item):
            return None
        return MessageRecord(message_id, item["task_id"]["S"], item["digest"]["S"])

    async def acquire_lease(self, record: TaskRecord, lease_end: float) -> TaskRecord:
        """The lease, for a run of the next number; a task that only was submitted is working from then on.

        Raises ConflictError where somebody was faster.
        """
        lease: dict[str, Any] = {"run": record.run + 1, "idle": record.idle + 1, "held": True, "lease_end": lease_end}
        if record.task.status.state != TaskState.TASK_STATE_SUBMITTED:
            return await self._write_update(record, dataclasses.replace(record, **lease))
        status = TaskStatus(state=TaskState.TASK_STATE_WORKING, timestamp=now_timestamp())
        task = Task()
        task.CopyFrom(record.task)
        task.status.CopyFrom(status)
        return await self.save(record, events=[status_event(task)], task=task, **lease)

    async def renew_lease(self, record: TaskRecord, lease_end: float) -> TaskRecord:
        return await self._write_update(record, dataclasses.replace(record, lease_end=lease_end))

    async def read_if_unchanged(self, record: TaskRecord) -> TaskRecord | None:
        """The head if it is still as it was written, with what others may add to it; None if somebody else wrote.

        The cheapest read there is.
        """
        item = await self.table.get(record.partition_key, table_keys.TASK_SORT_KEY, ("version", "run", "pushes"))
        if item is None or (int(item["version"]["N"]), int(item["run"]["N"])) != (record.version, record.run):
            return None
        return dataclasses.replace(record, pushes="pushes" in item)

    async def find_abandoned(self, before: float, limit: int) -> list[tuple[str, str]]:
        """Owner and id of open tasks whose lease ended, or whose run was asked for, before that time; oldest first."""
        page = await self.table.query_page(
            IndexName="open",
            KeyConditionExpression="open_key = :open AND lease_end < :before",
            ExpressionAttributeValues={
                ":open": {"S": table_keys.open_tasks_partition(self.agent)},
                ":before": {"N": str(round(before, 3))},
            },
            Limit=limit,
        )
        return [table_keys.parse_task_partition(item["pk"]["S"]) for item in page["Items"]]

    async def save(
        self,
        record: TaskRecord,
        *,
        turns: Iterable[Turn] = (),
        events: Iterable[StreamResponse] = (),
        messages: Iterable[MessageRecord] = (),
        **changes: Any,
    ) -> TaskRecord:
        """New turns, and `changes` of the head's fields. A changed task makes a version; its events are numbered by it.

        Raises ConflictError where the head is not as it was read, and where the task has ended: that is final.
        """
        if record.is_terminal:
            raise ConflictError("the task has ended")
        *early, turns = _split_turns(turns)
        for batch in early:
            record = await self.save(record, turns=batch)
        version = record.version + ("task" in changes)
        idle = {"idle": 0} if turns else {}
        after = dataclasses.replace(record, version=version, turns=record.turns + len(turns), **{**idle, **changes})
        events = list(events)
        if events and after.pushes and self._enqueue_push:
            await self._enqueue_push(after, self.clock())
        change = await asyncio.to_thread(self._save_actions, record, after, turns, events, list(messages))
        await self.table.write(*change)
        self.notifier.notify(record.task.id)
        return after

    async def delete(self, record: TaskRecord) -> None:
        """The head; what else there is of the task cannot be reached without it and expires."""
        await self.table.write({"Delete": {"Key": item_key(record.partition_key, table_keys.TASK_SORT_KEY)}})

    def _create_actions(
        self, record: TaskRecord, messages: list[MessageRecord], turns: list[Turn]
    ) -> list[TransactionAction]:
        actions = [put_task(record, self.codec, self.clock()), *put_turns(record, turns, 0, self.codec)]
        return [
            *actions,
            *self._message_actions(record, messages),
            *put_events(record, [snapshot_event(record.task)], self.codec),
        ]

    def _save_actions(
        self,
        before: TaskRecord,
        after: TaskRecord,
        turns: list[Turn],
        events: list[StreamResponse],
        messages: list[MessageRecord],
    ) -> list[TransactionAction]:
        update: TransactionAction = {"Update": update_task(before, after, self.codec)}
        turn_items = put_turns(after, turns, before.turns, self.codec)
        return [update, *self._message_actions(after, messages), *turn_items, *put_events(after, events, self.codec)]

    def _message_actions(self, head: TaskRecord, messages: list[MessageRecord]) -> list[TransactionAction]:
        return [put_message(head, record.message_id, record.digest, self.clock()) for record in messages]

    async def _write_update(self, before: TaskRecord, after: TaskRecord) -> TaskRecord:
        """A transaction even for one item: when its answer is lost and it is sent again, it is still done once."""
        await self.table.write({"Update": update_task(before, after, self.codec)})
        return after

    async def _read_record(self, item: Item | None, owner: str) -> TaskRecord | None:
        if item is None or self._is_expired(item):
            return None
        return await asyncio.to_thread(TaskRecord.from_item, item, self.agent, owner, self.codec)

    def _is_expired(self, item: Item) -> bool:
        return int(item["expires"]["N"]) <= self.clock()


def _split_turns(turns: Iterable[Turn]) -> list[list[Turn]]:
    """The turns in as few writes as they fit in; the last one, which may be empty, goes with the head's changes."""
    batches: list[list[Turn]] = [[]]
    size = 0
    for turn in turns:
        length = min(MAX_INLINE_BYTES, len(turn.text) + sum(len(call.arguments) for call in turn.tool_calls))
        if len(batches[-1]) == MAX_TURNS_PER_WRITE or size + length > MAX_CHARS_PER_WRITE:
            batches.append([])
            size = 0
        batches[-1].append(turn)
        size += length
    return batches
