"""Policies: with AUTH=true the emulator lets a role do only what they allow, but it lacks two things of ours.

It does not know `dynamodb:LeadingKeys`, the partition keys that a request names, by which infra/agent.yaml keeps every
agent to its own tasks. And loopback without TLS would be refused by the bucket's policy, so it counts as TLS.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from ministack import app
from ministack.core import iam_actions

PARTITION_KEYS = {"pk", "owner_key", "context_key", "open_key"}
"""Of infra/storage.yaml's table and its indexes. An item's only partition key is the table's."""


def put_in() -> None:
    context, pin_origin = iam_actions.dynamodb_service_context, app.pin_request_origin

    def with_leading_keys(body: bytes) -> dict[str, Any]:
        found = list(leading_keys(json.loads(body or b"{}")))
        return {**context(body), **({"dynamodb:LeadingKeys": found} if found else {})}

    iam_actions.dynamodb_service_context = with_leading_keys
    app.pin_request_origin = lambda address, secure: pin_origin(address, True)


def leading_keys(request: dict[str, Any]) -> Iterator[str]:
    for holder in ("Key", "Item"):
        if holder in request:
            yield request[holder]["pk"]["S"]
    for item in request.get("TransactItems", []):
        for operation in item.values():
            yield from leading_keys(operation)
    for table in request.get("RequestItems", {}).values():
        yield from (key["pk"]["S"] for key in table["Keys"])
    yield from _queried(request)


def _queried(request: dict[str, Any]) -> Iterator[str]:
    names = request.get("ExpressionAttributeNames", {})
    values = request.get("ExpressionAttributeValues", {})
    for name, value in re.findall(r"(#?\w+)\s*=\s*(:\w+)", request.get("KeyConditionExpression", "")):
        if names.get(name, name) in PARTITION_KEYS:
            yield values[value]["S"]
