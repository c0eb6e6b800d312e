"""A task as the table has it at the end, and what the diary tells of it."""

import json
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from agentfn.models import Turn
from agentfn.store.payload_codec import Payloads
from chaos.event_log import Line


@dataclass
class Stored:
    """`head` is the raw item, `task` its A2A task as JSON; `writes` and `asks` are lines of the diary."""

    head: dict[str, Any]
    task: dict[str, Any]
    turns: dict[str, Turn]
    events: list[str]
    writes: list[Line] = field(default_factory=list)
    asks: list[Line] = field(default_factory=list)

    @property
    def id(self) -> str:
        return str(self.task["id"])

    @property
    def state(self) -> str:
        return str(self.task["status"]["state"]).removeprefix("TASK_STATE_")

    @property
    def steps(self) -> list[Any]:
        return list(json.loads(self.turns["turn#000000"].text)["steps"])


def read_tasks(items: Iterable[dict[str, Any]], diary: list[Line], payloads: Payloads) -> dict[str, Stored]:
    """By id."""
    partitions: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for item in items:
        partitions[item["pk"]["S"]].append(item)
    heads = {pk: found for pk, found in partitions.items() if any(item["sk"]["S"] == "head" for item in found)}
    stored = {pk: _stored(found, payloads) for pk, found in heads.items()}
    tasks = {task.id: task for task in stored.values()}
    for line in diary:
        if line["kind"] == "write" and line["task"] in stored:
            stored[line["task"]].writes.append(line)
        if line["kind"] == "ask" and line["task"] in tasks:
            tasks[line["task"]].asks.append(line)
    return tasks


def _stored(items: list[dict[str, Any]], payloads: Payloads) -> Stored:
    by_key = {item["sk"]["S"]: item for item in items}
    turns = {
        sk: Turn.from_json(json.loads(payloads.unpack(item["turn"])))
        for sk, item in sorted(by_key.items())
        if sk.startswith("turn#")
    }
    head = by_key["head"]
    events = sorted(sk for sk in by_key if sk.startswith("event#"))
    return Stored(head, json.loads(payloads.unpack(head["task"])), turns, events)
