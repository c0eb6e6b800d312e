"""What DynamoDB would charge for what moto does: request units, counted item by item.

A write costs a unit for each 1 KB of the item, before or after it, whichever is larger; twice that in a transaction. An
index costs a write where what it shows of the item changes: two where its key does (the old entry goes, a new one
comes). A consistent read costs a unit for each 4 KB of all that it reads. Sources:
https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/read-write-operations.html
https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/GSI.html#GSI.ThroughputConsiderations.Writes
https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/CapacityUnitCalculations.html
"""

from typing import Any

import boto3
from botocore.config import Config

from agentfn.local.aws_resources import TABLE_SCHEMA

WRITE_UNIT, READ_UNIT = 1024, 4096  # bytes
TRANSACTION = 2
INDEXES = TABLE_SCHEMA["GlobalSecondaryIndexes"]

Item = dict[str, Any]


def size_of(item: Item) -> int:
    """In bytes: names and values in UTF-8; numbers two digits to a byte."""
    return sum(len(name.encode()) + _value(value) for name, value in item.items())


def _value(value: dict[str, Any]) -> int:
    [(kind, held)] = value.items()
    match kind:
        case "S":
            return len(held.encode())
        case "B":
            return len(held)
        case "N":
            return (len(held.strip("-").replace(".", "")) + 1) // 2 + 1
        case "M":
            return 3 + size_of(held) + len(held)
        case "L":
            return 3 + sum(_value(one) + 1 for one in held)
    return 1


def units(size: int, unit: int = WRITE_UNIT) -> int:
    return max(1, -(-size // unit))


def table_units(before: Item, after: Item) -> int:
    return units(max(size_of(before), size_of(after)))


def index_units(before: Item, after: Item) -> int:
    return sum(_entry_units(index, _entry(index, before), _entry(index, after)) for index in INDEXES)


def _entry_units(index: Any, old: Item, new: Item) -> int:
    keys = [key["AttributeName"] for key in index["KeySchema"]]
    if old == new:
        return 0
    if old and new and any(old[key] != new[key] for key in keys):
        return units(size_of(old)) + units(size_of(new))
    return units(max(size_of(old), size_of(new)))


def _entry(index: Any, item: Item) -> Item:
    """What the index shows of the item; nothing where it lacks one of the index's keys."""
    keys = [key["AttributeName"] for key in index["KeySchema"]]
    shown = ["pk", "sk", *keys, *index["Projection"].get("NonKeyAttributes", [])]
    return {name: item[name] for name in shown if name in item} if all(key in item for key in keys) else {}


class Meter:
    """Counts what a client of DynamoDB does. `written` is the bytes of all items as they were written, the head's with
    each save; `kept` those that stay.
    """

    def __init__(self, client: Any) -> None:
        self.table, self.index, self.read = 0, 0, 0
        self.written, self.kept = 0, 0
        self._own = boto3.client("dynamodb", config=Config(region_name=client.meta.region_name))
        self._before: list[tuple[str, Item, Item]] = []
        client.meta.events.register("provide-client-params.dynamodb.TransactWriteItems", self._begun)
        client.meta.events.register("after-call.dynamodb.TransactWriteItems", self._written)
        client.meta.events.register("after-call.dynamodb.Query", self._query)
        client.meta.events.register("after-call.dynamodb.GetItem", self._get)

    def _begun(self, params: dict[str, Any], **_: Any) -> None:
        places = [_place(action) for action in params["TransactItems"]]
        self._before = [(table, key, self._item(table, key)) for table, key in places]

    def _written(self, parsed: dict[str, Any], **_: Any) -> None:
        if "Error" in parsed:
            return
        for table, key, before in self._before:
            after = self._item(table, key)
            self.table += TRANSACTION * table_units(before, after)
            self.index += index_units(before, after)
            self.written += size_of(after)
            self.kept += size_of(after) - size_of(before)

    def _query(self, parsed: dict[str, Any], **_: Any) -> None:
        self.read += units(sum(size_of(item) for item in parsed.get("Items", [])), READ_UNIT)

    def _get(self, parsed: dict[str, Any], **_: Any) -> None:
        self.read += units(size_of(parsed.get("Item", {})), READ_UNIT)

    def _item(self, table: str, key: Item) -> Item:
        found: Item = self._own.get_item(TableName=table, Key=key, ConsistentRead=True).get("Item", {})
        return found


def _place(action: dict[str, Any]) -> tuple[str, Item]:
    [body] = action.values()
    held = body.get("Item") or body["Key"]
    return body["TableName"], {"pk": held["pk"], "sk": held["sk"]}
