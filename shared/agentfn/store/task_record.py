"""The head of a task: everything of it but its transcript and its events."""

import json
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Self

from a2a.types import Task, TaskState
from google.protobuf.json_format import MessageToJson, Parse

from agentfn.errors import StorageError
from agentfn.store import table_keys
from agentfn.store.payload_codec import Attribute, Payloads
from agentfn.tools import FileRecord

FILES_SPILL_ABOVE = 50_000  # bytes; they share an item with the task
SCHEMA = 1  # of heads and transcripts; a higher one was written by a later agentfn

TERMINAL = frozenset(
    {
        TaskState.TASK_STATE_COMPLETED,
        TaskState.TASK_STATE_FAILED,
        TaskState.TASK_STATE_CANCELED,
        TaskState.TASK_STATE_REJECTED,
    }
)
WAITING = frozenset({TaskState.TASK_STATE_INPUT_REQUIRED, TaskState.TASK_STATE_AUTH_REQUIRED})


@dataclass(frozen=True)
class Head:
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
    def key(self) -> str:
        return table_keys.task(self.agent, self.owner, self.task.id)

    @property
    def prefix(self) -> str:
        """The folder of this task's files in the bucket."""
        return f"{self.agent}/{self.owner}/{self.task.id}/"

    @property
    def terminal(self) -> bool:
        return self.task.status.state in TERMINAL

    @property
    def waiting(self) -> bool:
        return self.task.status.state in WAITING

    @property
    def open(self) -> bool:
        return not (self.terminal or self.waiting)

    def held_at(self, now: float) -> bool:
        """Whether some run may be at work on it."""
        return self.held and self.lease_end > now

    def attributes(self, payloads: Payloads) -> dict[str, Attribute]:
        """Everything but the key. May block, where the task is too large for an item."""
        heavy = {"task": self.task_attribute(payloads), "files": self.files_attribute(payloads)}
        return {**self.plain_attributes(), **heavy}

    def task_attribute(self, payloads: Payloads) -> Attribute:
        return payloads.pack(MessageToJson(self.task, indent=None), self.prefix)

    def files_attribute(self, payloads: Payloads) -> Attribute:
        return payloads.pack(json.dumps([vars(record) for record in self.files]), self.prefix, FILES_SPILL_ABOVE)

    def plain_attributes(self) -> dict[str, Attribute]:
        """Those that are small whatever the task. The index of open tasks has those of open tasks only."""
        shape: dict[str, Attribute] = {
            "schema": _number(SCHEMA),
            "state": {"S": TaskState.Name(self.task.status.state)},
            "version": _number(self.version),
            "run": _number(self.run),
            "idle": _number(self.idle),
            "turns": _number(self.turns),
            "held": {"BOOL": self.held},
            "skill": {"S": self.skill},
            "expires": _number(self.expires),
            "owner_key": {"S": table_keys.owned(self.agent, self.owner)},
            "context_key": {"S": table_keys.in_context(self.agent, self.owner, self.task.context_id)},
            "updated": {"S": updated(self.task)},
        }
        if self.pushes:
            shape["pushes"] = {"BOOL": True}
        if self.open:
            shape |= {"open_key": {"S": table_keys.unfinished(self.agent)}, "lease_end": _number(self.lease_end)}
        return shape

    @classmethod
    def read(cls, item: dict[str, Attribute], agent: str, owner: str, payloads: Payloads) -> Self:
        """Raises StorageError where a later version of agentfn wrote it. May block."""
        schema = int(item["schema"]["N"])
        if schema > SCHEMA:
            raise StorageError(
                f"the task was written with schema {schema}; this agentfn knows {SCHEMA}: deploy it anew"
            )
        return cls(
            agent=agent,
            owner=owner,
            task=Parse(payloads.unpack(item["task"]), Task()),
            version=int(item["version"]["N"]),
            run=int(item["run"]["N"]),
            idle=int(item["idle"]["N"]),
            turns=int(item["turns"]["N"]),
            held=item["held"]["BOOL"],
            lease_end=float(item.get("lease_end", {"N": "0"})["N"]),
            expires=int(item["expires"]["N"]),
            skill=item["skill"]["S"],
            pushes=item.get("pushes", {"BOOL": False})["BOOL"],
            files=tuple(FileRecord(**record) for record in json.loads(payloads.unpack(item["files"]))),
        )


def updated(task: Task) -> str:
    """Sort key of the indexes: when the status last changed, to the microsecond, then the id."""
    moment: datetime = task.status.timestamp.ToDatetime(UTC)
    return f"{stamp(moment)}#{task.id}"


def stamp(moment: datetime) -> str:
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def _number(value: float) -> Attribute:
    return {"N": str(round(value, 3) if isinstance(value, float) else value)}
