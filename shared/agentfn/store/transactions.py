"""Builds the actions of a DynamoDB transaction. A function that encodes a payload may block, where it overflows."""

import json
from collections.abc import Iterable
from typing import Any

from a2a.types import StreamResponse
from google.protobuf.json_format import MessageToDict, ParseDict

from agentfn.models import Turn
from agentfn.store import table_keys
from agentfn.store.payload_codec import MAX_INLINE_BYTES, PayloadCodec
from agentfn.store.table import Item, item_key
from agentfn.store.task_events import snapshot_event
from agentfn.store.task_record import MessageRecord, TaskRecord

MAX_TURNS_PER_WRITE = 90  # a transaction takes 100 actions
MAX_CHARS_PER_WRITE = 2_000_000  # of turns; a transaction takes 4 MB, and the item of a turn has 300 KB at most

TransactionAction = dict[str, dict[str, Any]]

UNCHANGED_CONDITION = "#version = :version_read AND #run = :run_read AND #turns = :turns_read AND #held = :held_read"


def create_actions(
    record: TaskRecord, messages: list[MessageRecord], turns: list[Turn], codec: PayloadCodec, now: float
) -> list[TransactionAction]:
    """Creates a task with its first turns, and the event of it. `now` is in seconds since 1970."""
    return [
        put_task(record, codec, now),
        *put_turns(record, turns, 0, codec),
        *(put_message(record, message, now) for message in messages),
        *put_events(record, [snapshot_event(record.task)], codec),
    ]


def save_actions(
    before: TaskRecord,
    after: TaskRecord,
    turns: list[Turn],
    events: list[StreamResponse],
    messages: list[MessageRecord],
    codec: PayloadCodec,
    now: float,
) -> list[TransactionAction]:
    """Changes a task from `before` to `after`. `now` is in seconds since 1970."""
    return [
        update_task(before, after, codec),
        *(put_message(after, message, now) for message in messages),
        *put_turns(after, turns, before.turn_count, codec),
        *put_events(after, events, codec),
    ]


def split_turns(turns: Iterable[Turn]) -> list[list[Turn]]:
    """The turns in as few writes as they fit into. The last batch may be empty; it is saved with the other changes."""
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


def put_task(record: TaskRecord, codec: PayloadCodec, now: float) -> TransactionAction:
    """Creates the record. The action fails where the task exists."""
    key = item_key(record.partition_key, table_keys.TASK_SORT_KEY)
    return {"Put": {"Item": {**key, **record.to_attributes(codec)}, **_absent_condition(now)}}


def update_task(before: TaskRecord, after: TaskRecord, codec: PayloadCodec) -> TransactionAction:
    """Writes the attributes that differ. The action fails where somebody else wrote since `before` was read."""
    old, new = before.scalar_attributes(), after.scalar_attributes()
    sets = {name: value for name, value in new.items() if old.get(name) != value}
    if after.task is not before.task:
        sets["task"] = after.encode_task(codec)
    if after.files != before.files:
        sets["files"] = after.encode_files(codec)
    removes = [name for name in old if name not in new]
    clauses = ["SET " + ", ".join(f"#{name} = :{name}" for name in sets)] if sets else []
    clauses += ["REMOVE " + ", ".join(f"#{name}" for name in removes)] if removes else []
    update = {
        "Key": item_key(before.partition_key, table_keys.TASK_SORT_KEY),
        "UpdateExpression": " ".join(clauses) or "SET #run = #run",
        "ConditionExpression": UNCHANGED_CONDITION,
        "ExpressionAttributeNames": {f"#{name}": name for name in [*sets, *removes, "version", "run", "turns", "held"]},
        "ExpressionAttributeValues": {
            **{f":{name}": value for name, value in sets.items()},
            ":version_read": before.version,
            ":run_read": before.run,
            ":turns_read": before.turn_count,
            ":held_read": before.leased,
        },
    }
    return {"Update": update}


def put_turns(record: TaskRecord, turns: list[Turn], start: int, codec: PayloadCodec) -> list[TransactionAction]:
    """One item for each turn, numbered from `start`: what a step writes does not grow with the transcript."""
    return [
        {
            "Put": {
                "Item": {
                    **item_key(record.partition_key, table_keys.turn_sort_key(number)),
                    "turn": codec.encode(json.dumps(turn.to_json(), ensure_ascii=False), record.object_prefix),
                    "expires": record.expires,
                }
            }
        }
        for number, turn in enumerate(turns, start)
    ]


def put_events(record: TaskRecord, events: list[StreamResponse], codec: PayloadCodec) -> list[TransactionAction]:
    """One item with the events of the record's version; none where there are no events."""
    if not events:
        return []
    text = json.dumps([MessageToDict(event) for event in events], ensure_ascii=False)
    item = {
        **item_key(record.partition_key, table_keys.event_sort_key(record.version)),
        "events": codec.encode(text, record.object_prefix),
        "expires": record.expires,
    }
    return [{"Put": {"Item": item}}]


def read_events(item: Item, codec: PayloadCodec) -> tuple[int, list[StreamResponse]]:
    """The version and the events of an item that `put_events` wrote. May block."""
    events = json.loads(codec.decode(item["events"]))
    return table_keys.parse_event_version(item["sk"]), [ParseDict(event, StreamResponse()) for event in events]


def put_message(record: TaskRecord, message: MessageRecord, now: float) -> TransactionAction:
    """Records that a message was received. The action fails where the id is on record."""
    partition = table_keys.message_partition(record.agent, record.owner, message.message_id)
    item = {
        **item_key(partition, table_keys.MESSAGE_SORT_KEY),
        "task_id": record.task.id,
        "digest": message.digest,
        "expires": record.expires,
    }
    return {"Put": {"Item": item, **_absent_condition(now)}}


def _absent_condition(now: float) -> dict[str, Any]:
    """DynamoDB deletes expired items late, so an expired item counts as absent."""
    return {
        "ConditionExpression": "attribute_not_exists(pk) OR #expires <= :now",
        "ExpressionAttributeNames": {"#expires": "expires"},
        "ExpressionAttributeValues": {":now": int(now)},
    }
