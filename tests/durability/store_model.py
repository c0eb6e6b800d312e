"""A model of the task store: the expected state, whatever actors do in whatever order."""

import dataclasses
import functools
from collections.abc import Callable
from typing import Any

from a2a.types import TaskState
from hypothesis.stateful import RuleBasedStateMachine, invariant

from agentfn.errors import ConflictError
from agentfn.models import Turn
from agentfn.store import TaskRecord
from durability.store_harness import AGENT, StoreHarness

OWNER = "alice"
SWEEP_SLACK_SECONDS, SWEEP_INTERVAL_SECONDS = 60.0, 600.0  # seconds; as the sweep has them
TERMINAL_STATES = ("COMPLETED", "FAILED", "CANCELED", "REJECTED")
WAITING_STATES = ("INPUT_REQUIRED", "AUTH_REQUIRED")


@dataclasses.dataclass
class ExpectedTask:
    """The expected state of one task."""

    expires: int
    state: str
    held: bool
    lease_end: float
    run: int
    version: int = 1
    turns: list[str] = dataclasses.field(default_factory=list)
    files: int = 0
    deleted: bool = False

    @property
    def write_condition(self) -> tuple[int, int, int, bool]:
        """The state that a writer must have read last for its write to succeed."""
        return self.version, self.run, len(self.turns), self.held

    @property
    def unfinished(self) -> bool:
        return self.state not in TERMINAL_STATES + WAITING_STATES


class StoreActors(RuleBasedStateMachine):
    """Actors on the store. Each keeps the record that it read last of each task, however old, and writes with it."""

    def __init__(self) -> None:
        super().__init__()
        self.store = shared_store()
        self.store.reset()
        self.expected: dict[str, ExpectedTask] = {}
        self.messages: dict[str, tuple[str, int]] = {}  # message id -> task id, expiry
        self.last_read: dict[tuple[str, str], tuple[TaskRecord, tuple[int, int, int, bool]]] = {}
        self.run_holders: dict[tuple[str, int], str] = {}  # who was given which run of a task
        self.turn_count = 0

    def teardown(self) -> None:
        for task_id in self.expected:
            self.check_task(task_id)
            self.check_items(task_id)

    @invariant()
    def no_two_could_write(self) -> None:
        """At most one of the actors that hold a task is not superseded."""
        for task_id, truth in self.expected.items():
            believers = {
                head.run
                for (_, own), (head, mark) in self.last_read.items()
                if own == task_id and mark == truth.write_condition
            }
            assert len(believers) <= 1

    def sweep(self) -> None:
        """Finds the open tasks whose lease is over, oldest first, and postpones those without a lease."""
        before = self.store.now - SWEEP_SLACK_SECONDS
        found = [task_id for _, task_id in self.store.run(self.store.tasks.find_abandoned(before, 50))]
        due = {task_id: truth for task_id, truth in self.expected.items() if truth.unfinished and not truth.deleted}
        due = {task_id: truth for task_id, truth in due.items() if truth.lease_end < before}
        assert sorted(found) == sorted(due)
        assert [due[task_id].lease_end for task_id in found] == sorted(truth.lease_end for truth in due.values())
        for task_id in found:
            head = self.store.run(self.store.tasks.read(OWNER, task_id))
            assert (head is None) == (due[task_id].expires <= self.store.now)
            if head is not None and not head.leased:
                self.store.run(self.store.tasks.renew_lease(head, self.store.now + SWEEP_INTERVAL_SECONDS))
                due[task_id].lease_end = self.store.now + SWEEP_INTERVAL_SECONDS
            self.check_task(task_id)

    def check_task(self, task_id: str) -> None:
        """The table holds the task as the model expects it."""
        truth = self.expected.get(task_id)
        head = self.store.head_item(f"{AGENT}#{OWNER}#{task_id}")
        if truth is None or truth.deleted:
            assert head is None
            return
        assert head is not None
        assert head["state"]["S"] == f"TASK_STATE_{truth.state}"
        mark = (int(head["version"]["N"]), int(head["run"]["N"]), int(head["turns"]["N"]), head["held"]["BOOL"])
        assert mark == truth.write_condition
        assert ("open_key" in head) == ("lease_end" in head) == truth.unfinished
        assert not truth.unfinished or float(head["lease_end"]["N"]) == truth.lease_end
        assert self.store.count_items(f"{AGENT}#{OWNER}#{task_id}") == 1 + len(truth.turns) + truth.version

    def check_items(self, task_id: str) -> None:
        """Turns and events are numbered without gaps."""
        truth = self.expected[task_id]
        sort_keys = [item["sk"]["S"] for item in self.store.items(f"{AGENT}#{OWNER}#{task_id}")]
        turns = [f"turn#{number:06d}" for number in range(len(truth.turns))]
        events = [f"event#{number:012d}" for number in range(1, truth.version + 1)]
        assert sort_keys == ([] if truth.deleted else [*events, "head", *turns])

    def expect(self, work: Any, expected: bool) -> TaskRecord | None:
        """The record after a write that the model expects to succeed or to be refused."""
        try:
            head: TaskRecord = self.store.run(work)
        except ConflictError:
            assert not expected, "refused, though nobody had changed anything"
            return None
        assert expected, "accepted, though somebody else was faster"
        return head

    def write(self, actor: str, head: TaskRecord, work: Any, *, also: bool = True) -> TaskRecord | None:
        task_id = head.task.id
        truth = self.expected[task_id]
        fresh = (
            self.last_read[actor, task_id][1] == truth.write_condition and not truth.deleted and not head.is_terminal
        )
        return self.expect(work, fresh and also)

    def remember(self, actor: str, head: TaskRecord) -> None:
        task_id = head.task.id
        truth = self.expected[task_id]
        assert (head.version, head.run, head.turn_count, head.leased) == truth.write_condition
        assert len(head.files) == truth.files
        self.last_read[actor, task_id] = (head, truth.write_condition)

    def unexpired(self) -> list[str]:
        return [task_id for task_id, truth in self.expected.items() if truth.expires > self.store.now]

    def unfinished(self) -> list[str]:
        return [task_id for task_id in self.unexpired() if self.expected[task_id].state not in TERMINAL_STATES]

    def candidates(self, such: Callable[[TaskRecord, float], bool]) -> list[tuple[str, str, TaskRecord]]:
        """Actor, task and record of those who read such a record last. Only a run's actor writes as its holder."""
        able = [(*who, head) for who, (head, _) in self.last_read.items() if such(head, self.store.now)]
        return [
            (actor, task_id, head)
            for actor, task_id, head in able
            if such is not is_holding or self.run_holders[task_id, head.run] == actor
        ]

    def pick(self, pick: int, such: Callable[[TaskRecord, float], bool]) -> tuple[str, str, TaskRecord]:
        able = self.candidates(such)
        return able[pick % len(able)]

    def record_run(self, actor: str, head: TaskRecord) -> None:
        run = (head.task.id, head.run)
        assert run not in self.run_holders, "two have a run of the same number"
        self.run_holders[run] = actor

    def is_known_message(self, message_id: str) -> bool:
        return message_id in self.messages and self.messages[message_id][1] > self.store.now

    def make_turns(self, count: int) -> list[Turn]:
        self.turn_count += count
        return [Turn("user", f"word {self.turn_count - place}") for place in range(count)]


def is_takeable(head: TaskRecord, now: float) -> bool:
    return head.is_open and not head.is_leased_at(now)


def is_holding(head: TaskRecord, now: float) -> bool:
    return head.leased


def is_not_terminal(head: TaskRecord, now: float) -> bool:
    return not head.is_terminal


def is_waiting(head: TaskRecord, now: float) -> bool:
    return head.is_waiting


def state_number(name: str) -> TaskState:
    return TaskState.Value(f"TASK_STATE_{name}")  # type: ignore[return-value]


@functools.cache
def shared_store() -> StoreHarness:
    """The store for all examples: creating its clients takes longer than an example."""
    return StoreHarness()
