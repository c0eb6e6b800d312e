"""The head of a task: everything of it but its transcript and its events."""

import json
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Self

from a2a.types import Task, TaskState
from google.protobuf.json_format import MessageToJson, Parse

from agentfn.errors import StoredDataError
from agentfn.store import table_keys
from agentfn.store.payload_codec import Attribute, PayloadCodec
from agentfn.tools import FileRecord

MAX_INLINE_FILES_BYTES = 50_000  # bytes; they share an item with the task
SCHEMA_VERSION = 1  # of heads and transcripts; a higher one was written by a later agentfn

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
class TaskRecord:
    """`run` counts the invocations that took the task; `idle` those in a row that saved nothing. `turns` is how many
    turns the transcript has. While `held`, only run number `run` may write, until `lease_end` (seconds since 1970).
    `pushes` says that somebody wants to be told of the task's events.
    """

    agent: str
    owner: str
    task: Task
    version: int = 1
    run: int = 0
    idle: int = 0
    turns: int = 0
    held: bool = False
    lease_end: float = 0.0
    expires: int = 0
    skill: str = ""
    files: tuple[FileRecord, ...] = field(default=())
    pushes: bool = False

    @property
    def partition_key(self) -> str:
        return table_keys.task_partition(self.agent, self.owner, self.task.id)

    @property
    def object_prefix(self) -> str:
        """The folder of this task's files in the bucket."""
        return f"{self.agent}/{self.owner}/{self.task.id}/"

    @property
    def is_terminal(self) -> bool:
        return self.task.status.state in TERMINAL_STATES

    @property
    def is_waiting(self) -> bool:
        return self.task.status.state in WAITING_STATES

    @property
    def is_open(self) -> bool:
        return not (self.is_terminal or self.is_waiting)

    def is_leased_at(self, now: float) -> bool:
        """Whether some run may be at work on it."""
        return self.held and self.lease_end > now

    def to_attributes(self, codec: PayloadCodec) -> dict[str, Attribute]:
        """Everything but the key. May block, where the task is too large for an item."""
        heavy = {"task": self.encode_task(codec), "files": self.encode_files(codec)}
        return {**self.scalar_attributes(), **heavy}

    def encode_task(self, codec: PayloadCodec) -> Attribute:
        return codec.encode(MessageToJson(self.task, indent=None), self.object_prefix)

    def encode_files(self, codec: PayloadCodec) -> Attribute:
        return codec.encode(
            json.dumps([vars(record) for record in self.files]), self.object_prefix, MAX_INLINE_FILES_BYTES
        )

    def scalar_attributes(self) -> dict[str, Attribute]:
        """Those that are small whatever the task. The index of open tasks has those of open tasks only."""
        shape: dict[str, Attribute] = {
            "schema": _number_attribute(SCHEMA_VERSION),
            "state": {"S": TaskState.Name(self.task.status.state)},
            "version": _number_attribute(self.version),
            "run": _number_attribute(self.run),
            "idle": _number_attribute(self.idle),
            "turns": _number_attribute(self.turns),
            "held": {"BOOL": self.held},
            "skill": {"S": self.skill},
            "expires": _number_attribute(self.expires),
            "owner_key": {"S": table_keys.owner_partition(self.agent, self.owner)},
            "context_key": {"S": table_keys.context_partition(self.agent, self.owner, self.task.context_id)},
            "updated": {"S": updated_sort_key(self.task)},
        }
        if self.pushes:
            shape["pushes"] = {"BOOL": True}
        if self.is_open:
            shape |= {
                "open_key": {"S": table_keys.open_tasks_partition(self.agent)},
                "lease_end": _number_attribute(self.lease_end),
            }
        return shape

    @classmethod
    def from_item(cls, item: dict[str, Attribute], agent: str, owner: str, codec: PayloadCodec) -> Self:
        """Raises StorageError where a later version of agentfn wrote it. May block."""
        schema = int(item["schema"]["N"])
        if schema > SCHEMA_VERSION:
            raise StoredDataError(
                f"the task was written with schema {schema}; this agentfn knows {SCHEMA_VERSION}: deploy it anew"
            )
        return cls(
            agent=agent,
            owner=owner,
            task=Parse(codec.decode(item["task"]), Task()),
            version=int(item["version"]["N"]),
            run=int(item["run"]["N"]),
            idle=int(item["idle"]["N"]),
            turns=int(item["turns"]["N"]),
            held=item["held"]["BOOL"],
            lease_end=float(item.get("lease_end", {"N": "0"})["N"]),
            expires=int(item["expires"]["N"]),
            skill=item["skill"]["S"],
            pushes=item.get("pushes", {"BOOL": False})["BOOL"],
            files=tuple(FileRecord(**record) for record in json.loads(codec.decode(item["files"]))),
        )


def updated_sort_key(task: Task) -> str:
    """Sort key of the indexes: when the status last changed, to the microsecond, then the id."""
    moment: datetime = task.status.timestamp.ToDatetime(UTC)
    return f"{format_timestamp(moment)}#{task.id}"


def format_timestamp(moment: datetime) -> str:
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def _number_attribute(value: float) -> Attribute:
    return {"N": str(round(value, 3) if isinstance(value, float) else value)}
