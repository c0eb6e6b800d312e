"""The task store in DynamoDB.

Every change of a task is one transaction: the record, on the condition that nobody changed it since it was read, the
new turns, and the events of the change. A transaction that loses the race raises ConflictError and changes nothing.
"""

import asyncio
import dataclasses
import json
import time
from collections.abc import Callable, Iterable
from typing import Unpack

from a2a.types import ListTasksRequest, ListTasksResponse, StreamResponse, Task, TaskState, TaskStatus

from agentfn.errors import ConflictError, StoredDataError
from agentfn.models import Turn
from agentfn.store import table_keys
from agentfn.store.list_tasks import TaskLister
from agentfn.store.payload_codec import PayloadCodec
from agentfn.store.push_store import PushStore, PushSubscription, subscription_item
from agentfn.store.table import Item, Table, item_key
from agentfn.store.task_events import now_timestamp, status_event
from agentfn.store.task_notifier import TaskNotifier
from agentfn.store.task_record import MessageRecord, RecordChanges, TaskRecord, seconds_value
from agentfn.store.task_store import EnqueuePush, TaskStore
from agentfn.store.transactions import create_actions, read_events, save_actions, split_turns, update_task
from agentfn.telemetry import logger


class DynamoTaskStore(TaskStore):
    """Implements TaskStore with one table, and a bucket for the payloads that an item cannot hold.

    `enqueue_push` is called, with the record and the time, before each write of events that have subscribers, so that
    no event is lost; the write may still fail.
    """

    def __init__(
        self,
        table: Table,
        codec: PayloadCodec,
        agent: str,
        retention_days: int,
        clock: Callable[[], float] = time.time,
        enqueue_push: EnqueuePush | None = None,
    ) -> None:
        self.agent = agent
        self.clock = clock
        self.notifier = TaskNotifier()
        self.push_store = PushStore(table, clock)
        self._table = table
        self._codec = codec
        self._retention_seconds = retention_days * 24 * 3600
        self._enqueue_push = enqueue_push
        self._lister = TaskLister(table, codec, agent, clock)

    async def create(
        self,
        record: TaskRecord,
        messages: Iterable[MessageRecord] = (),
        turns: Iterable[Turn] = (),
        subscription: PushSubscription | None = None,
    ) -> TaskRecord:
        turns, messages = list(turns), list(messages)
        expires = int(self.clock()) + self._retention_seconds
        record = dataclasses.replace(record, expires=expires, turn_count=len(turns), has_push=subscription is not None)
        if self._enqueue_push and record.has_push:
            await self._enqueue_push(record, self.clock())
        actions = await asyncio.to_thread(create_actions, record, messages, turns, self._codec, self.clock())
        if subscription is not None:
            actions.append({"Put": {"Item": subscription_item(record, subscription)}})
        await self._table.write(*actions)
        return record

    async def read(self, owner: str, task_id: str) -> TaskRecord | None:
        item = await self._table.get(table_keys.task_partition(self.agent, owner, task_id), table_keys.TASK_SORT_KEY)
        return await self._read_record(item, owner)

    async def read_with_turns(self, owner: str, task_id: str) -> tuple[TaskRecord, list[Turn]] | None:
        items = await self._query_items(owner, task_id, table_keys.TASK_SORT_KEY, table_keys.TURN_PREFIX + "~")
        item = next((item for item in items if item["sk"] == table_keys.TASK_SORT_KEY), None)
        record = await self._read_record(item, owner)
        if record is None:
            return None
        # Turns that the record does not count were written after it, or belong to a deleted task of this id.
        stored = [item["turn"] for item in items if item["sk"].startswith(table_keys.TURN_PREFIX)][: record.turn_count]
        texts = await asyncio.to_thread(lambda: [self._codec.decode(turn) for turn in stored])
        return record, [Turn.from_json(json.loads(text)) for text in texts]

    async def read_many(self, owner: str, task_ids: Iterable[str]) -> list[TaskRecord]:
        partitions = dict.fromkeys(table_keys.task_partition(self.agent, owner, task_id) for task_id in task_ids)
        keys = [item_key(partition, table_keys.TASK_SORT_KEY) for partition in partitions]
        items = await self._table.batch_get(keys) if keys else []
        return await asyncio.to_thread(self._parse_readable, items, owner)

    async def read_if_unchanged(self, record: TaskRecord) -> TaskRecord | None:
        attributes = ("version", "run", "pushes")
        item = await self._table.get(record.partition_key, table_keys.TASK_SORT_KEY, attributes)
        if item is None or (int(item["version"]), int(item["run"])) != (record.version, record.run):
            return None
        return dataclasses.replace(record, has_push="pushes" in item)

    async def read_events(self, owner: str, task_id: str, *, after: int) -> list[tuple[int, list[StreamResponse]]]:
        first, last = table_keys.event_sort_key(after + 1), table_keys.EVENT_PREFIX + "~"
        items = await self._query_items(owner, task_id, first, last)
        return await asyncio.to_thread(lambda: [read_events(item, self._codec) for item in items])

    async def find_message(self, owner: str, message_id: str) -> MessageRecord | None:
        partition = table_keys.message_partition(self.agent, owner, message_id)
        item = await self._table.get(partition, table_keys.MESSAGE_SORT_KEY)
        if item is None or self._is_expired(item):
            return None
        return MessageRecord(message_id, item["task_id"], item["digest"])

    async def find_in_context(self, owner: str, context_id: str, limit: int) -> list[str]:
        page = await self._table.query_page(
            IndexName="by_context",
            KeyConditionExpression="context_key = :context",
            ExpressionAttributeValues={":context": table_keys.context_partition(self.agent, owner, context_id)},
            ScanIndexForward=False,
            Limit=limit,
        )
        prefix = table_keys.task_partition(self.agent, owner, "")
        return [item["pk"].removeprefix(prefix) for item in page["Items"]]

    async def find_abandoned(self, before: float, limit: int) -> list[tuple[str, str]]:
        page = await self._table.query_page(
            IndexName="open",
            KeyConditionExpression="open_key = :open AND lease_end < :before",
            ExpressionAttributeValues={
                ":open": table_keys.open_tasks_partition(self.agent),
                ":before": seconds_value(before),
            },
            Limit=limit,
        )
        return [table_keys.parse_task_partition(item["pk"]) for item in page["Items"]]

    async def list_page(
        self, params: ListTasksRequest, owner: str, view: Callable[[Task], Task] = lambda task: task
    ) -> ListTasksResponse:
        return await self._lister.list_page(params, owner, view)

    async def acquire_lease(self, record: TaskRecord, lease_end: float) -> TaskRecord:
        lease = RecordChanges(run=record.run + 1, idle_runs=record.idle_runs + 1, leased=True, lease_end=lease_end)
        if record.task.status.state != TaskState.TASK_STATE_SUBMITTED:
            return await self._write_update(record, dataclasses.replace(record, **lease))
        task = Task()
        task.CopyFrom(record.task)
        task.status.CopyFrom(TaskStatus(state=TaskState.TASK_STATE_WORKING, timestamp=now_timestamp()))
        lease["task"] = task
        return await self.save(record, events=[status_event(task)], **lease)

    async def renew_lease(self, record: TaskRecord, lease_end: float) -> TaskRecord:
        return await self._write_update(record, dataclasses.replace(record, lease_end=lease_end))

    async def save(
        self,
        record: TaskRecord,
        *,
        turns: Iterable[Turn] = (),
        events: Iterable[StreamResponse] = (),
        messages: Iterable[MessageRecord] = (),
        **changes: Unpack[RecordChanges],
    ) -> TaskRecord:
        if record.is_terminal:
            raise ConflictError("the task has ended")
        *earlier, turns = split_turns(turns)
        for batch in earlier:
            record = await self.save(record, turns=batch)
        events = list(events)
        if turns:
            changes = {"idle_runs": 0, **changes}
        version = record.version + ("task" in changes)
        after = dataclasses.replace(record, version=version, turn_count=record.turn_count + len(turns), **changes)
        if events and after.has_push and self._enqueue_push:
            await self._enqueue_push(after, self.clock())
        actions = await asyncio.to_thread(
            save_actions, record, after, turns, events, list(messages), self._codec, self.clock()
        )
        await self._table.write(*actions)
        self.notifier.notify(record.task.id)
        return after

    async def delete(self, record: TaskRecord) -> None:
        await self._table.write({"Delete": {"Key": item_key(record.partition_key, table_keys.TASK_SORT_KEY)}})

    async def _write_update(self, before: TaskRecord, after: TaskRecord) -> TaskRecord:
        """Writes one item in a transaction, so that a request that is sent again has its effect only once."""
        await self._table.write(update_task(before, after, self._codec))
        return after

    async def _query_items(self, owner: str, task_id: str, first: str, last: str) -> list[Item]:
        """The items of a task whose sort keys are between these, both included."""
        return await self._table.query_all(
            KeyConditionExpression="pk = :pk AND sk BETWEEN :first AND :last",
            ExpressionAttributeValues={
                ":pk": table_keys.task_partition(self.agent, owner, task_id),
                ":first": first,
                ":last": last,
            },
            ConsistentRead=True,
        )

    async def _read_record(self, item: Item | None, owner: str) -> TaskRecord | None:
        if item is None or self._is_expired(item):
            return None
        return await asyncio.to_thread(TaskRecord.from_item, item, self.agent, owner, self._codec)

    def _parse_readable(self, items: Iterable[Item], owner: str) -> list[TaskRecord]:
        records = []
        for item in items:
            try:
                record = TaskRecord.from_item(item, self.agent, owner, self._codec)
            except StoredDataError as error:
                logger.warning("a task is skipped: %s", error)
                continue
            if record.expires > self.clock():
                records.append(record)
        return records

    def _is_expired(self, item: Item) -> bool:
        return int(item["expires"]) <= self.clock()
