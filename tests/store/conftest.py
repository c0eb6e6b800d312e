"""A task store on a table in memory, wired as in a deployed agent, with a manual clock."""

import asyncio
import dataclasses
import threading
import uuid
from collections import Counter
from collections.abc import Callable, Coroutine, Iterator
from typing import Any
from unittest.mock import patch

import pytest
from a2a.types import Task, TaskState, TaskStatus
from moto import mock_aws
from moto.core.botocore_stubber import BotocoreStubber

from agentfn.aws_clients import aws_client
from agentfn.files import Bucket
from agentfn.local.aws_resources import create_resources
from agentfn.store import DynamoTaskStore, Table, TaskRecord
from agentfn.store.payload_codec import PayloadCodec

REGION = "eu-central-1"
DAY = 24 * 3600


@dataclasses.dataclass
class Clock:
    now: float = 1_800_000_000.0

    def __call__(self) -> float:
        return self.now


@dataclasses.dataclass
class StoreWorld:
    """`requests` are those sent to the table so far: the operation and the size of its body in bytes."""

    table: str
    clock: Clock
    tasks: DynamoTaskStore
    requests: list[tuple[str, int]]

    def run[T](self, work: Coroutine[Any, Any, T]) -> T:
        return asyncio.run(work)

    def items(self, sort: str = "") -> list[dict[str, Any]]:
        found = aws_client("dynamodb").scan(TableName=self.table, ConsistentRead=True)["Items"]
        return sorted((item for item in found if item["sk"]["S"].startswith(sort)), key=lambda item: item["sk"]["S"])

    def head(self, task_id: str = "t1", owner: str = "alice", **changes: Any) -> TaskRecord:
        """A head that was not created yet."""
        task = Task(id=task_id, context_id="c1", status=TaskStatus(state=TaskState.TASK_STATE_SUBMITTED))
        task.status.timestamp.FromSeconds(int(self.clock()))
        return dataclasses.replace(TaskRecord("clerk", owner, task), **changes)

    def created(self, task_id: str = "t1", **changes: Any) -> TaskRecord:
        return self.run(self.tasks.create(self.head(task_id, **changes)))

    def read(self, task_id: str = "t1", owner: str = "alice") -> TaskRecord:
        head = self.run(self.tasks.read(owner, task_id))
        assert head is not None
        return head

    def request_counts(self) -> Counter[str]:
        return Counter(name for name, _ in self.requests)


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> Iterator[StoreWorld]:
    monkeypatch.setenv("AWS_DEFAULT_REGION", REGION)
    answer, lock = BotocoreStubber.__call__, threading.RLock()

    def one_at_a_time(*arguments: Any, **named: Any) -> Any:
        """moto's tables are not thread-safe."""
        with lock:
            return answer(*arguments, **named)

    with mock_aws(), patch.object(BotocoreStubber, "__call__", one_at_a_time):
        aws_client.cache_clear()
        resources = create_resources(f"store-{uuid.uuid4().hex[:8]}", REGION)
        clock, requests = Clock(), list[tuple[str, int]]()
        bucket = Bucket(lambda: aws_client("s3"), resources.bucket, 3600)
        table = Table(lambda: aws_client("dynamodb"), resources.table)
        tasks = DynamoTaskStore(table, PayloadCodec(bucket), "clerk", 30, clock)
        aws_client("dynamodb").meta.events.register(
            "before-call", lambda model, params, **_: requests.append((model.name, len(params["body"])))
        )
        yield StoreWorld(resources.table, clock, tasks, requests)
        aws_client.cache_clear()


@pytest.fixture
def state_of() -> Callable[[TaskRecord], str]:
    return lambda head: TaskState.Name(head.task.status.state).removeprefix("TASK_STATE_").lower()
