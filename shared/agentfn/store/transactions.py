"""What goes into one transaction. These functions build; they may block where a payload spills."""

import json
from typing import Any

from a2a.types import StreamResponse
from google.protobuf.json_format import MessageToDict, ParseDict

from agentfn.models import Turn
from agentfn.store import table_keys
from agentfn.store.payload_codec import PayloadCodec
from agentfn.store.table import Item, item_key
from agentfn.store.task_record import TaskRecord

TransactionAction = dict[str, dict[str, Any]]

UNCHANGED_CONDITION = "#version = :version_read AND #run = :run_read AND #turns = :turns_read AND #held = :held_read"


def put_task(record: TaskRecord, codec: PayloadCodec, now: float) -> TransactionAction:
    return {
        "Put": {
            "Item": {**item_key(record.partition_key, table_keys.TASK_SORT_KEY), **record.to_attributes(codec)},
            **_absent_condition(now),
        }
    }


def update_task(before: TaskRecord, after: TaskRecord, codec: PayloadCodec) -> dict[str, Any]:
    """The body of an Update that holds only if nobody else wrote since `before` was read."""
    old, new = before.scalar_attributes(), after.scalar_attributes()
    sets = {name: value for name, value in new.items() if old.get(name) != value}
    if after.task is not before.task:
        sets["task"] = after.encode_task(codec)
    if after.files != before.files:
        sets["files"] = after.encode_files(codec)
    removes = [name for name in old if name not in new]
    clauses = ["SET " + ", ".join(f"#{name} = :{name}" for name in sets)] if sets else []
    clauses += ["REMOVE " + ", ".join(f"#{name}" for name in removes)] if removes else []
    values = {f":{name}": value for name, value in sets.items()}
    return {
        "Key": item_key(before.partition_key, table_keys.TASK_SORT_KEY),
        "UpdateExpression": " ".join(clauses) or "SET #run = #run",
        "ConditionExpression": UNCHANGED_CONDITION,
        "ExpressionAttributeNames": {f"#{name}": name for name in [*sets, *removes, "version", "run", "turns", "held"]},
        "ExpressionAttributeValues": {
            **values,
            ":version_read": {"N": str(before.version)},
            ":run_read": {"N": str(before.run)},
            ":turns_read": {"N": str(before.turns)},
            ":held_read": {"BOOL": before.held},
        },
    }


def put_turns(record: TaskRecord, turns: list[Turn], start: int, codec: PayloadCodec) -> list[TransactionAction]:
    """The turns as items of their own, numbered from `start`: what a step writes does not grow with the transcript."""
    return [
        {
            "Put": {
                "Item": {
                    **item_key(record.partition_key, table_keys.turn_sort_key(start + place)),
                    "turn": codec.encode(json.dumps(turn.to_json(), ensure_ascii=False), record.object_prefix),
                    "expires": {"N": str(record.expires)},
                }
            }
        }
        for place, turn in enumerate(turns)
    ]


def put_events(record: TaskRecord, events: list[StreamResponse], codec: PayloadCodec) -> list[TransactionAction]:
    """The events of the head's version, as one item."""
    if not events:
        return []
    text = json.dumps([MessageToDict(event) for event in events], ensure_ascii=False)
    item = {
        **item_key(record.partition_key, table_keys.event_sort_key(record.version)),
        "events": codec.encode(text, record.object_prefix),
        "expires": {"N": str(record.expires)},
    }
    return [{"Put": {"Item": item}}]


def read_events(item: Item, codec: PayloadCodec) -> tuple[int, list[StreamResponse]]:
    """What `put_events` wrote. May block."""
    shapes = json.loads(codec.decode(item["events"]))
    return table_keys.parse_event_version(item["sk"]["S"]), [ParseDict(shape, StreamResponse()) for shape in shapes]


def put_message(record: TaskRecord, message_id: str, digest: str, now: float) -> TransactionAction:
    item = {
        **item_key(table_keys.message_partition(record.agent, record.owner, message_id), table_keys.MESSAGE_SORT_KEY),
        "task_id": {"S": record.task.id},
        "digest": {"S": digest},
        "expires": {"N": str(record.expires)},
    }
    return {"Put": {"Item": item, **_absent_condition(now)}}


def _absent_condition(now: float) -> dict[str, Any]:
    """The condition that no such item is there. The table deletes late: one that has expired counts as absent."""
    return {
        "ConditionExpression": "attribute_not_exists(pk) OR #expires <= :now",
        "ExpressionAttributeNames": {"#expires": "expires"},
        "ExpressionAttributeValues": {":now": {"N": str(int(now))}},
    }
