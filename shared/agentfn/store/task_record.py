"""The record of a task: its A2A task, lease, files and counters. Its turns and its events are items of their own."""

import json
from dataclasses import dataclass, field
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any, Self, TypedDict

from a2a.types import Task, TaskState
from google.protobuf.json_format import MessageToJson, Parse

from agentfn.errors import StoredDataError
from agentfn.store import table_keys
from agentfn.store.payload_codec import PayloadCodec
from agentfn.store.table import Item
from agentfn.tools import FileRecord

MAX_INLINE_FILES_BYTES = 50_000  # the list of files shares an item with the task
SCHEMA_VERSION = 1  # of records and turns; a later agentfn writes a higher one

TERMINAL_STATES = frozenset(
    {
        TaskState.TASK_STATE_COMPLETED,
        TaskState.TASK_STATE_FAILED,
        TaskState.TASK_STATE_CANCELED,
        TaskState.TASK_STATE_REJECTED,
    }
)
WAITING_STATES = frozenset({TaskState.TASK_STATE_INPUT_REQUIRED, TaskState.TASK_STATE_AUTH_REQUIRED})


@dataclass(frozen=True)
class MessageRecord:
    """Which task a client's message went to. `digest` tells it from another message with the same id."""

    message_id: str
    task_id: str
    digest: str


class RecordChanges(TypedDict, total=False):
    """The fields of a TaskRecord that `TaskStore.save` can change."""

    task: Task
    files: tuple[FileRecord, ...]
    run: int
    idle_runs: int
    leased: bool
    lease_end: float


@dataclass(frozen=True)
class TaskRecord:
    """One task as the table has it.

    `version` counts the saves that changed `task`. `run` is the number of the last run, and `idle_runs` how many runs
    in a row saved no turn. `turn_count` is the length of the transcript. While `leased`, only run number `run` may
    write, until `lease_end`. `has_push` says that the task has push subscriptions. `lease_end` and `expires` are in
    seconds since 1970.
    """

    agent: str
    owner: str
    task: Task
    version: int = 1
    run: int = 0
    idle_runs: int = 0
    turn_count: int = 0
    leased: bool = False
    lease_end: float = 0.0
    expires: int = 0
    skill: str = ""
    files: tuple[FileRecord, ...] = field(default=())
    has_push: bool = False

    @property
    def partition_key(self) -> str:
        return table_keys.task_partition(self.agent, self.owner, self.task.id)

    @property
    def object_prefix(self) -> str:
        """The key prefix of this task's objects in the bucket."""
        return f"{self.agent}/{self.owner}/{self.task.id}/"

    @property
    def is_terminal(self) -> bool:
        return self.task.status.state in TERMINAL_STATES

    @property
    def is_waiting(self) -> bool:
        """Whether the task waits for its user."""
        return self.task.status.state in WAITING_STATES

    @property
    def is_open(self) -> bool:
        """Whether the task is being worked on, or is to be."""
        return not (self.is_terminal or self.is_waiting)

    def is_leased_at(self, now: float) -> bool:
        """Whether a run may be working on the task at `now`, in seconds since 1970."""
        return self.leased and self.lease_end > now

    def to_attributes(self, codec: PayloadCodec) -> Item:
        """All attributes of the item but its key. May block, where the task is too large for an item."""
        payloads = {"task": self.encode_task(codec), "files": self.encode_files(codec)}
        return {**self.scalar_attributes(), **payloads}

    def encode_task(self, codec: PayloadCodec) -> Any:
        return codec.encode(MessageToJson(self.task, indent=None), self.object_prefix)

    def encode_files(self, codec: PayloadCodec) -> Any:
        text = json.dumps([vars(file) for file in self.files])
        return codec.encode(text, self.object_prefix, MAX_INLINE_FILES_BYTES)

    def scalar_attributes(self) -> Item:
        """The attributes that are small whatever the task is. Only an open task is in the index `open`."""
        attributes: Item = {
            "schema": SCHEMA_VERSION,
            "state": TaskState.Name(self.task.status.state),
            "version": self.version,
            "run": self.run,
            "idle": self.idle_runs,
            "turns": self.turn_count,
            "held": self.leased,
            "skill": self.skill,
            "expires": self.expires,
            "owner_key": table_keys.owner_partition(self.agent, self.owner),
            "context_key": table_keys.context_partition(self.agent, self.owner, self.task.context_id),
            "updated": updated_sort_key(self.task),
        }
        if self.has_push:
            attributes["pushes"] = True
        if self.is_open:
            attributes["open_key"] = table_keys.open_tasks_partition(self.agent)
            attributes["lease_end"] = seconds_value(self.lease_end)
        return attributes

    @classmethod
    def from_item(cls, item: Item, agent: str, owner: str, codec: PayloadCodec) -> Self:
        """Raises StoredDataError where a later version of agentfn wrote the item. May block."""
        schema = int(item["schema"])
        if schema > SCHEMA_VERSION:
            raise StoredDataError(
                f"the task was written with schema {schema}, and this version of agentfn reads up to {SCHEMA_VERSION}: "
                "deploy the later version"
            )
        return cls(
            agent=agent,
            owner=owner,
            task=Parse(codec.decode(item["task"]), Task()),
            version=int(item["version"]),
            run=int(item["run"]),
            idle_runs=int(item["idle"]),
            turn_count=int(item["turns"]),
            leased=item["held"],
            lease_end=float(item.get("lease_end", 0)),
            expires=int(item["expires"]),
            skill=item["skill"],
            has_push=item.get("pushes", False),
            files=tuple(FileRecord(**file) for file in json.loads(codec.decode(item["files"]))),
        )


def updated_sort_key(task: Task) -> str:
    """The sort key of the indexes by owner and by context: the time of the status in microseconds, then the id."""
    changed: datetime = task.status.timestamp.ToDatetime(UTC)
    return f"{format_timestamp(changed)}#{task.id}"


def format_timestamp(moment: datetime) -> str:
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def seconds_value(seconds: float) -> Decimal:
    """A time as an attribute value, in whole milliseconds."""
    return Decimal(str(round(seconds, 3)))
