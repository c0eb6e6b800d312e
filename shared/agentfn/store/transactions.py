"""What goes into one transaction. These functions build; they may block where a payload spills."""

import json
from typing import Any

from a2a.types import StreamResponse
from google.protobuf.json_format import MessageToDict, ParseDict

from agentfn.models import Turn
from agentfn.store import table_keys
from agentfn.store.payload_codec import Payloads
from agentfn.store.table import Item, key
from agentfn.store.task_record import Head

Action = dict[str, dict[str, Any]]

UNCHANGED = "#version = :version_read AND #run = :run_read AND #turns = :turns_read AND #held = :held_read"


def put_head(head: Head, payloads: Payloads, now: float) -> Action:
    return {"Put": {"Item": {**key(head.key, table_keys.HEAD), **head.attributes(payloads)}, **_absent(now)}}


def update_head(before: Head, after: Head, payloads: Payloads) -> dict[str, Any]:
    """The body of an Update that holds only if nobody else wrote since `before` was read."""
    old, new = before.plain_attributes(), after.plain_attributes()
    sets = {name: value for name, value in new.items() if old.get(name) != value}
    if after.task is not before.task:
        sets["task"] = after.task_attribute(payloads)
    if after.files != before.files:
        sets["files"] = after.files_attribute(payloads)
    removes = [name for name in old if name not in new]
    clauses = ["SET " + ", ".join(f"#{name} = :{name}" for name in sets)] if sets else []
    clauses += ["REMOVE " + ", ".join(f"#{name}" for name in removes)] if removes else []
    values = {f":{name}": value for name, value in sets.items()}
    return {
        "Key": key(before.key, table_keys.HEAD),
        "UpdateExpression": " ".join(clauses) or "SET #run = #run",
        "ConditionExpression": UNCHANGED,
        "ExpressionAttributeNames": {f"#{name}": name for name in [*sets, *removes, "version", "run", "turns", "held"]},
        "ExpressionAttributeValues": {
            **values,
            ":version_read": {"N": str(before.version)},
            ":run_read": {"N": str(before.run)},
            ":turns_read": {"N": str(before.turns)},
            ":held_read": {"BOOL": before.held},
        },
    }


def put_turns(head: Head, turns: list[Turn], start: int, payloads: Payloads) -> list[Action]:
    """The turns as items of their own, numbered from `start`: what a step writes does not grow with the transcript."""
    return [
        {
            "Put": {
                "Item": {
                    **key(head.key, table_keys.turn(start + place)),
                    "turn": payloads.pack(json.dumps(turn.to_json(), ensure_ascii=False), head.prefix),
                    "expires": {"N": str(head.expires)},
                }
            }
        }
        for place, turn in enumerate(turns)
    ]


def put_events(head: Head, events: list[StreamResponse], payloads: Payloads) -> list[Action]:
    """The events of the head's version, as one item."""
    if not events:
        return []
    text = json.dumps([MessageToDict(event) for event in events], ensure_ascii=False)
    item = {
        **key(head.key, table_keys.event(head.version)),
        "events": payloads.pack(text, head.prefix),
        "expires": {"N": str(head.expires)},
    }
    return [{"Put": {"Item": item}}]


def read_events(item: Item, payloads: Payloads) -> tuple[int, list[StreamResponse]]:
    """What `put_events` wrote. May block."""
    shapes = json.loads(payloads.unpack(item["events"]))
    return table_keys.version_of(item["sk"]["S"]), [ParseDict(shape, StreamResponse()) for shape in shapes]


def put_message(head: Head, message_id: str, digest: str, now: float) -> Action:
    item = {
        **key(table_keys.message(head.agent, head.owner, message_id), table_keys.MESSAGE),
        "task_id": {"S": head.task.id},
        "digest": {"S": digest},
        "expires": {"N": str(head.expires)},
    }
    return {"Put": {"Item": item, **_absent(now)}}


def _absent(now: float) -> dict[str, Any]:
    """The condition that no such item is there. The table deletes late: one that has expired counts as absent."""
    return {
        "ConditionExpression": "attribute_not_exists(pk) OR #expires <= :now",
        "ExpressionAttributeNames": {"#expires": "expires"},
        "ExpressionAttributeValues": {":now": {"N": str(int(now))}},
    }
