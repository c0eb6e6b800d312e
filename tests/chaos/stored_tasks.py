"""Reads the stored tasks at the end of a run, with their lines of the event log."""

import json
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from agentfn.models import Turn
from agentfn.store.payload_codec import PayloadCodec
from agentfn.store.table import deserialize_item
from chaos.event_log import LogEntry


@dataclass
class StoredTask:
    """A task. `head` is the raw item, `task` the A2A task as JSON; `writes` and `model_calls` are event log lines."""

    head: dict[str, Any]
    task: dict[str, Any]
    turns: dict[str, Turn]
    events: list[str]
    writes: list[LogEntry] = field(default_factory=list)
    model_calls: list[LogEntry] = field(default_factory=list)

    @property
    def id(self) -> str:
        return str(self.task["id"])

    @property
    def state(self) -> str:
        return str(self.task["status"]["state"]).removeprefix("TASK_STATE_")

    @property
    def steps(self) -> list[Any]:
        return list(json.loads(self.turns["turn#000000"].text)["steps"])


def read_tasks(
    items: Iterable[dict[str, Any]], event_log: list[LogEntry], payloads: PayloadCodec
) -> dict[str, StoredTask]:
    """The tasks by id."""
    partitions: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for item in items:
        partitions[item["pk"]["S"]].append(item)
    heads = {pk: found for pk, found in partitions.items() if any(item["sk"]["S"] == "head" for item in found)}
    stored = {pk: _parse_items(found, payloads) for pk, found in heads.items()}
    tasks = {task.id: task for task in stored.values()}
    for line in event_log:
        if line["kind"] == "write" and line["task"] in stored:
            stored[line["task"]].writes.append(line)
        if line["kind"] == "ask" and line["task"] in tasks:
            tasks[line["task"]].model_calls.append(line)
    return tasks


def _parse_items(items: list[dict[str, Any]], payloads: PayloadCodec) -> StoredTask:
    by_key = {item["sk"]["S"]: item for item in items}
    turns = {
        sk: Turn.from_json(json.loads(payloads.decode(deserialize_item(item)["turn"])))
        for sk, item in sorted(by_key.items())
        if sk.startswith("turn#")
    }
    head = by_key["head"]
    events = sorted(sk for sk in by_key if sk.startswith("event#"))
    return StoredTask(head, json.loads(payloads.decode(deserialize_item(head)["task"])), turns, events)
