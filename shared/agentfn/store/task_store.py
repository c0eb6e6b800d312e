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
from agentfn.store.payload_codec import SPILL_ABOVE, Payloads
from agentfn.store.table import Item, Table, key
from agentfn.store.task_events import now, snapshot, status_event
from agentfn.store.task_notifier import Bell
from agentfn.store.task_record import Head
from agentfn.store.transactions import Action, put_events, put_head, put_message, put_turns, read_events, update_head

MAX_TURNS_A_WRITE = 90  # a transaction takes 100 actions
MAX_SIZE_A_WRITE = 2_000_000  # characters of turns; a transaction takes 4 MB, and a turn's item is 300 KB at most


@dataclass(frozen=True)
class MessageRecord:
    """Which task a client's message went to; `digest` tells the same message from another one of that id."""

    message_id: str
    task_id: str
    digest: str


class Tasks:
    """The tasks of one agent. `clock` is in seconds since 1970.

    `announce` is told of each head that is about to be written with events somebody wants to be told of: before the
    write, so that none is lost, and it may come to nothing.
    """

    def __init__(
        self, table: Table, payloads: Payloads, agent: str, days: int, clock: Callable[[], float] = time.time
    ) -> None:
        self.table = table
        self.payloads = payloads
        self.agent = agent
        self.clock = clock
        self.bell = Bell()
        self.announce: Callable[[Head], Awaitable[None]] | None = None
        self._seconds = days * 24 * 3600

    async def create(
        self,
        head: Head,
        messages: Iterable[MessageRecord] = (),
        turns: Iterable[Turn] = (),
        pushes: Callable[[Head], list[Item]] | None = None,
    ) -> Head:
        """A new task, with the records of the message that asked for it, and the items of who is to be told of it.

        Raises ConflictError where the task or one of those records is there already.
        """
        turns = list(turns)
        head = dataclasses.replace(head, expires=int(self.clock()) + self._seconds, turns=len(turns))
        head = dataclasses.replace(head, pushes=bool(pushes))
        subscribed: list[Action] = [{"Put": {"Item": item}} for item in pushes(head)] if pushes else []
        if self.announce and pushes:
            await self.announce(head)
        creation = await asyncio.to_thread(self._creation, head, list(messages), turns)
        await self.table.write(*creation, *subscribed)
        return head

    async def read(self, owner: str, task_id: str) -> Head | None:
        """The head, in one read. Expired counts as absent."""
        item = await self.table.get(table_keys.task(self.agent, owner, task_id), table_keys.HEAD)
        return await self._head(item, owner)

    async def load(self, owner: str, task_id: str) -> tuple[Head, list[Turn]] | None:
        """The head and the transcript, in one query (of as many pages as it takes)."""
        items = await self.table.query_all(
            KeyConditionExpression="pk = :pk AND sk BETWEEN :head AND :end",
            ExpressionAttributeValues={
                ":pk": {"S": table_keys.task(self.agent, owner, task_id)},
                ":head": {"S": table_keys.HEAD},
                ":end": {"S": table_keys.TURN + "~"},
            },
            ConsistentRead=True,
        )
        head = await self._head(next((item for item in items if item["sk"]["S"] == table_keys.HEAD), None), owner)
        if head is None:
            return None
        # Turns that the head does not count came after it, or belong to a task of this id that was deleted.
        stored = [item["turn"] for item in items if item["sk"]["S"].startswith(table_keys.TURN)][: head.turns]
        texts = await asyncio.to_thread(lambda: [self.payloads.unpack(turn) for turn in stored])
        return head, [Turn.from_json(json.loads(text)) for text in texts]

    async def events(self, owner: str, task_id: str, *, after: int) -> list[tuple[int, list[StreamResponse]]]:
        """Version and events of each change after that version, in order."""
        items = await self.table.query_all(
            KeyConditionExpression="pk = :pk AND sk BETWEEN :first AND :end",
            ExpressionAttributeValues={
                ":pk": {"S": table_keys.task(self.agent, owner, task_id)},
                ":first": {"S": table_keys.event(after + 1)},
                ":end": {"S": table_keys.EVENT + "~"},
            },
            ConsistentRead=True,
        )
        return await asyncio.to_thread(lambda: [read_events(item, self.payloads) for item in items])

    async def message(self, owner: str, message_id: str) -> MessageRecord | None:
        item = await self.table.get(table_keys.message(self.agent, owner, message_id), table_keys.MESSAGE)
        if item is None or self._expired(item):
            return None
        return MessageRecord(message_id, item["task_id"]["S"], item["digest"]["S"])

    async def take(self, head: Head, until: float) -> Head:
        """The lease, for a run of the next number; a task that only was submitted is working from then on.

        Raises ConflictError where somebody was faster.
        """
        lease: dict[str, Any] = {"run": head.run + 1, "idle": head.idle + 1, "held": True, "lease_end": until}
        if head.task.status.state != TaskState.TASK_STATE_SUBMITTED:
            return await self._update(head, dataclasses.replace(head, **lease))
        status = TaskStatus(state=TaskState.TASK_STATE_WORKING, timestamp=now())
        task = Task()
        task.CopyFrom(head.task)
        task.status.CopyFrom(status)
        return await self.save(head, events=[status_event(task)], task=task, **lease)

    async def renew(self, head: Head, until: float) -> Head:
        return await self._update(head, dataclasses.replace(head, lease_end=until))

    async def watch(self, head: Head) -> Head | None:
        """The head if it is still as it was written, with what others may add to it; None if somebody else wrote.

        The cheapest read there is.
        """
        item = await self.table.get(head.key, table_keys.HEAD, ("version", "run", "pushes"))
        if item is None or (int(item["version"]["N"]), int(item["run"]["N"])) != (head.version, head.run):
            return None
        return dataclasses.replace(head, pushes="pushes" in item)

    async def abandoned(self, before: float, most: int) -> list[tuple[str, str]]:
        """Owner and id of open tasks whose lease ended, or whose run was asked for, before that time; oldest first."""
        page = await self.table.query(
            IndexName="open",
            KeyConditionExpression="open_key = :open AND lease_end < :before",
            ExpressionAttributeValues={
                ":open": {"S": table_keys.unfinished(self.agent)},
                ":before": {"N": str(round(before, 3))},
            },
            Limit=most,
        )
        return [table_keys.owner_and_task(item["pk"]["S"]) for item in page["Items"]]

    async def save(
        self,
        head: Head,
        *,
        turns: Iterable[Turn] = (),
        events: Iterable[StreamResponse] = (),
        messages: Iterable[MessageRecord] = (),
        **changes: Any,
    ) -> Head:
        """New turns, and `changes` of the head's fields. A changed task makes a version; its events are numbered by it.

        Raises ConflictError where the head is not as it was read, and where the task has ended: that is final.
        """
        if head.terminal:
            raise ConflictError("the task has ended")
        *early, turns = _batches(turns)
        for batch in early:
            head = await self.save(head, turns=batch)
        version = head.version + ("task" in changes)
        idle = {"idle": 0} if turns else {}
        after = dataclasses.replace(head, version=version, turns=head.turns + len(turns), **{**idle, **changes})
        events = list(events)
        if events and after.pushes and self.announce:
            await self.announce(after)
        change = await asyncio.to_thread(self._change, head, after, turns, events, list(messages))
        await self.table.write(*change)
        self.bell.ring(head.task.id)
        return after

    async def delete(self, head: Head) -> None:
        """The head; what else there is of the task cannot be reached without it and expires."""
        await self.table.write({"Delete": {"Key": key(head.key, table_keys.HEAD)}})

    def _creation(self, head: Head, messages: list[MessageRecord], turns: list[Turn]) -> list[Action]:
        actions = [put_head(head, self.payloads, self.clock()), *put_turns(head, turns, 0, self.payloads)]
        return [*actions, *self._records(head, messages), *put_events(head, [snapshot(head.task)], self.payloads)]

    def _change(
        self,
        before: Head,
        after: Head,
        turns: list[Turn],
        events: list[StreamResponse],
        messages: list[MessageRecord],
    ) -> list[Action]:
        update: Action = {"Update": update_head(before, after, self.payloads)}
        turn_items = put_turns(after, turns, before.turns, self.payloads)
        return [update, *self._records(after, messages), *turn_items, *put_events(after, events, self.payloads)]

    def _records(self, head: Head, messages: list[MessageRecord]) -> list[Action]:
        return [put_message(head, record.message_id, record.digest, self.clock()) for record in messages]

    async def _update(self, before: Head, after: Head) -> Head:
        """A transaction even for one item: when its answer is lost and it is sent again, it is still done once."""
        await self.table.write({"Update": update_head(before, after, self.payloads)})
        return after

    async def _head(self, item: Item | None, owner: str) -> Head | None:
        if item is None or self._expired(item):
            return None
        return await asyncio.to_thread(Head.read, item, self.agent, owner, self.payloads)

    def _expired(self, item: Item) -> bool:
        return int(item["expires"]["N"]) <= self.clock()


def _batches(turns: Iterable[Turn]) -> list[list[Turn]]:
    """The turns in as few writes as they fit in; the last one, which may be empty, goes with the head's changes."""
    batches: list[list[Turn]] = [[]]
    size = 0
    for turn in turns:
        length = min(SPILL_ABOVE, len(turn.text) + sum(len(call.arguments) for call in turn.calls))
        if len(batches[-1]) == MAX_TURNS_A_WRITE or size + length > MAX_SIZE_A_WRITE:
            batches.append([])
            size = 0
        batches[-1].append(turn)
        size += length
    return batches
