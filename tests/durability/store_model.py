"""What must be true of a store of tasks, whoever works on them in whatever order: a model to compare it with."""

import dataclasses
import functools
from collections.abc import Callable
from typing import Any

from a2a.types import TaskState
from hypothesis.stateful import RuleBasedStateMachine, invariant

from agentfn.errors import ConflictError
from agentfn.models import Turn
from agentfn.store import Head
from durability.store_harness import AGENT, Shop

OWNER = "alice"
SLACK, REST = 60.0, 600.0  # seconds; as the sweep has them
ENDS = ("COMPLETED", "FAILED", "CANCELED", "REJECTED")
WAITS = ("INPUT_REQUIRED", "AUTH_REQUIRED")


@dataclasses.dataclass
class Truth:
    """What must be in the table of one task."""

    expires: int
    state: str
    held: bool
    lease_end: float
    run: int
    version: int = 1
    turns: list[str] = dataclasses.field(default_factory=list)
    files: int = 0
    gone: bool = False

    @property
    def mark(self) -> tuple[int, int, int, bool]:
        """What a writer must have read last for his write to count."""
        return self.version, self.run, len(self.turns), self.held

    @property
    def open(self) -> bool:
        return self.state not in ENDS + WAITS


class Actors(RuleBasedStateMachine):
    """Each actor keeps the head that he saw last of each task, however old it is, and writes with it."""

    def __init__(self) -> None:
        super().__init__()
        self.shop = the_shop()
        self.shop.empty()
        self.truths: dict[str, Truth] = {}
        self.messages: dict[str, tuple[str, int]] = {}  # message id -> task id, expiry
        self.seen: dict[tuple[str, str], tuple[Head, tuple[int, int, int, bool]]] = {}
        self.runs: dict[tuple[str, int], str] = {}  # who was given which run of a task
        self.said = 0

    def teardown(self) -> None:
        for task_id in self.truths:
            self.check(task_id)
            self.check_items(task_id)

    @invariant()
    def no_two_could_write(self) -> None:
        """Of all who believe that they hold a task, one at most is not yet superseded."""
        for task_id, truth in self.truths.items():
            believers = {
                head.run for (_, own), (head, mark) in self.seen.items() if own == task_id and mark == truth.mark
            }
            assert len(believers) <= 1

    def sweep(self) -> None:
        """Finds the open tasks whose time is over, oldest first, and puts off those that nobody holds."""
        before = self.shop.now - SLACK
        found = [task_id for _, task_id in self.shop.run(self.shop.tasks.abandoned(before, 50))]
        due = {task_id: truth for task_id, truth in self.truths.items() if truth.open and not truth.gone}
        due = {task_id: truth for task_id, truth in due.items() if truth.lease_end < before}
        assert sorted(found) == sorted(due)
        assert [due[task_id].lease_end for task_id in found] == sorted(truth.lease_end for truth in due.values())
        for task_id in found:
            head = self.shop.run(self.shop.tasks.read(OWNER, task_id))
            assert (head is None) == (due[task_id].expires <= self.shop.now)
            if head is not None and not head.held:
                self.shop.run(self.shop.tasks.renew(head, self.shop.now + REST))
                due[task_id].lease_end = self.shop.now + REST
            self.check(task_id)

    def check(self, task_id: str) -> None:
        """The table says of the task what the model says."""
        truth = self.truths.get(task_id)
        head = self.shop.head(f"{AGENT}#{OWNER}#{task_id}")
        if truth is None or truth.gone:
            assert head is None
            return
        assert head is not None
        assert head["state"]["S"] == f"TASK_STATE_{truth.state}"
        mark = (int(head["version"]["N"]), int(head["run"]["N"]), int(head["turns"]["N"]), head["held"]["BOOL"])
        assert mark == truth.mark
        assert ("open_key" in head) == ("lease_end" in head) == truth.open
        assert not truth.open or float(head["lease_end"]["N"]) == truth.lease_end
        assert self.shop.count(f"{AGENT}#{OWNER}#{task_id}") == 1 + len(truth.turns) + truth.version

    def check_items(self, task_id: str) -> None:
        """Turns and events are numbered without a gap, whoever wrote them."""
        truth = self.truths[task_id]
        sort_keys = [item["sk"]["S"] for item in self.shop.items(f"{AGENT}#{OWNER}#{task_id}")]
        turns = [f"turn#{number:06d}" for number in range(len(truth.turns))]
        events = [f"event#{number:012d}" for number in range(1, truth.version + 1)]
        assert sort_keys == ([] if truth.gone else [*events, "head", *turns])

    def attempt(self, work: Any, expected: bool) -> Head | None:
        """The head after a write that the model expects to be accepted, or to be refused."""
        try:
            head: Head = self.shop.run(work)
        except ConflictError:
            assert not expected, "refused, though nobody had changed anything"
            return None
        assert expected, "accepted, though somebody else was faster"
        return head

    def write(self, actor: str, head: Head, work: Any, *, also: bool = True) -> Head | None:
        task_id = head.task.id
        truth = self.truths[task_id]
        fresh = self.seen[actor, task_id][1] == truth.mark and not truth.gone and not head.terminal
        return self.attempt(work, fresh and also)

    def remember(self, actor: str, head: Head) -> None:
        task_id = head.task.id
        truth = self.truths[task_id]
        assert (head.version, head.run, head.turns, head.held) == truth.mark
        assert len(head.files) == truth.files
        self.seen[actor, task_id] = (head, truth.mark)

    def alive(self) -> list[str]:
        return [task_id for task_id, truth in self.truths.items() if truth.expires > self.shop.now]

    def unfinished(self) -> list[str]:
        return [task_id for task_id in self.alive() if self.truths[task_id].state not in ENDS]

    def able(self, such: Callable[[Head, float], bool]) -> list[tuple[str, str, Head]]:
        """Who has seen such a head last, and of which task. Only whose run it is writes as its holder."""
        able = [(*who, head) for who, (head, _) in self.seen.items() if such(head, self.shop.now)]
        return [
            (actor, task_id, head)
            for actor, task_id, head in able
            if such is not holding or self.runs[task_id, head.run] == actor
        ]

    def one(self, pick: int, such: Callable[[Head, float], bool]) -> tuple[str, str, Head]:
        able = self.able(such)
        return able[pick % len(able)]

    def given(self, actor: str, head: Head) -> None:
        run = (head.task.id, head.run)
        assert run not in self.runs, "two have a run of the same number"
        self.runs[run] = actor

    def known(self, message_id: str) -> bool:
        return message_id in self.messages and self.messages[message_id][1] > self.shop.now

    def speak(self, count: int) -> list[Turn]:
        self.said += count
        return [Turn("user", f"word {self.said - place}") for place in range(count)]


def takeable(head: Head, now: float) -> bool:
    return head.open and not head.held_at(now)


def holding(head: Head, now: float) -> bool:
    return head.held


def running(head: Head, now: float) -> bool:
    return not head.terminal


def waiting(head: Head, now: float) -> bool:
    return head.waiting


def state_number(name: str) -> TaskState:
    return TaskState.Value(f"TASK_STATE_{name}")  # type: ignore[return-value]


@functools.cache
def the_shop() -> Shop:
    """One for all examples: its clients take longer to make than an example to play."""
    return Shop()
