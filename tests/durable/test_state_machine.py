"""Several who work on the same tasks at once, in whatever order, against a model of what the store promises."""

import dataclasses
from typing import Any

import pytest
from a2a.types import Task, TaskState, TaskStatus
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from agentfn.errors import ConflictError
from agentfn.models import Turn
from agentfn.outcome import with_status
from agentfn.store import Head, MessageRecord
from agentfn.store.events import status_event
from agentfn.tools import FileRecord
from durable.shop import AGENT, DAYS, Shop

LEASE = 90.0
SLACK, REST = 60.0, 600.0  # seconds; as the sweep has them
OWNER = "alice"
TASKS = ("t1", "t2", "t3")
ENDS = ("COMPLETED", "FAILED", "CANCELED", "REJECTED")
WAITS = ("INPUT_REQUIRED", "AUTH_REQUIRED")

actors = st.sampled_from(("ann", "ben", "cid"))
task_ids = st.sampled_from(TASKS)
message_ids = st.sampled_from(("m1", "m2", "m3", "m4"))
some_turns = st.sampled_from((0, 1, 1, 2, 5, 95))  # the last one takes two transactions
endings = st.sampled_from(ENDS + WAITS)


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


class Store(RuleBasedStateMachine):
    """Each actor keeps the head that he saw last of each task, however old it is, and writes with it."""

    def __init__(self) -> None:
        super().__init__()
        self.shop = Shop()
        self.truths: dict[str, Truth] = {}
        self.messages: dict[str, tuple[str, int]] = {}  # message id -> task id, expiry
        self.seen: dict[tuple[str, str], tuple[Head, tuple[int, int, int, bool]]] = {}
        self.runs: set[tuple[str, int]] = set()
        self.said = 0

    def teardown(self) -> None:
        try:
            for task_id in TASKS:
                self.check(task_id)
        finally:
            self.shop.close()

    # What the actors do.

    @rule(actor=actors, task_id=task_ids, message_id=message_ids, here=st.booleans(), turns=some_turns)
    def create(self, actor: str, task_id: str, message_id: str, here: bool, turns: int) -> None:
        state = "WORKING" if here else "SUBMITTED"
        task = Task(id=task_id, context_id="c", status=TaskStatus(state=state_number(state)))
        head = Head(AGENT, OWNER, task, run=int(here), held=here, lease_end=self.shop.now + LEASE * here)
        spoken = self.speak(turns)
        record = MessageRecord(message_id, task_id, "digest")
        free = task_id not in self.truths and not self.known(message_id)
        made = self.attempt(self.shop.tasks.create(head, [record], spoken), free)
        if made is not None:
            expires = int(self.shop.now) + DAYS * 24 * 3600
            words = [turn.text for turn in spoken]
            self.truths[task_id] = Truth(expires, state, here, head.lease_end, int(here), turns=words)
            self.messages[message_id] = (task_id, expires)
            self.given(task_id, made) if here else None
            self.remember(actor, made)
        self.check(task_id)

    @rule(actor=actors, task_id=task_ids)
    def look(self, actor: str, task_id: str) -> None:
        found = self.shop.run(self.shop.tasks.load(OWNER, task_id))
        truth = self.truths.get(task_id)
        if truth is None or truth.gone or truth.expires <= self.shop.now:
            assert found is None
            return
        assert found is not None
        assert [turn.text for turn in found[1]] == truth.turns
        self.remember(actor, found[0])

    @rule(actor=actors, task_id=task_ids)
    def take(self, actor: str, task_id: str) -> None:
        """Whoever sees an open task that nobody holds, by what he knows, takes it."""
        head = self.head(actor, task_id)
        if head is None or not head.open or head.held_at(self.shop.now):
            return
        until = self.shop.now + LEASE
        moved = head.task.status.state == TaskState.TASK_STATE_SUBMITTED
        taken = self.write(actor, head, self.shop.tasks.take(head, until))
        if taken is not None:
            truth = self.truths[task_id]
            truth.run, truth.held, truth.lease_end, truth.state = truth.run + 1, True, until, "WORKING"
            truth.version += moved
            self.given(task_id, taken)
            self.remember(actor, taken)
        self.check(task_id)

    @rule(actor=actors, task_id=task_ids, turns=some_turns, file=st.booleans(), told=st.booleans())
    def save(self, actor: str, task_id: str, turns: int, file: bool, told: bool) -> None:
        """A step of whoever believes that he holds the task, be he long superseded."""
        head = self.holding(actor, task_id)
        if head is None:
            return
        until = self.shop.now + LEASE
        changes: dict[str, Any] = {"lease_end": until}
        if file:
            record = FileRecord(f"{len(head.files)}.txt", "text/plain", 1, "produced", "key")
            changes["files"] = (*head.files, record)
        if told:
            changes["task"] = with_status(head.task, TaskState.TASK_STATE_WORKING, "on it")
            changes["events"] = [status_event(changes["task"])]
        spoken = self.speak(turns)
        saved = self.write(actor, head, self.shop.tasks.save(head, turns=spoken, **changes))
        if saved is not None:
            truth = self.truths[task_id]
            truth.turns += [turn.text for turn in spoken]
            truth.version, truth.files, truth.lease_end = truth.version + told, truth.files + file, until
            self.remember(actor, saved)
        self.check(task_id)

    @rule(actor=actors, task_id=task_ids)
    def renew(self, actor: str, task_id: str) -> None:
        head = self.holding(actor, task_id)
        if head is None:
            return
        until = self.shop.now + LEASE
        renewed = self.write(actor, head, self.shop.tasks.renew(head, until))
        if renewed is not None:
            self.truths[task_id].lease_end = until
            self.remember(actor, renewed)
        self.check(task_id)

    @rule(actor=actors, task_id=task_ids, rest=st.sampled_from((0.0, 30.0)))
    def suspend(self, actor: str, task_id: str, rest: float) -> None:
        head = self.holding(actor, task_id)
        if head is None:
            return
        until = self.shop.now + rest
        left = self.write(actor, head, self.shop.tasks.save(head, held=False, lease_end=until))
        if left is not None:
            truth = self.truths[task_id]
            truth.held, truth.lease_end = False, until
            self.remember(actor, left)
        self.check(task_id)

    @rule(actor=actors, task_id=task_ids, ending=endings, turns=some_turns)
    def end(self, actor: str, task_id: str, ending: str, turns: int) -> None:
        """Only a holder ends a task; anybody cancels one."""
        head = self.head(actor, task_id) if ending == "CANCELED" else self.holding(actor, task_id)
        if head is None:
            return
        task = with_status(head.task, state_number(ending), "so it ends")
        spoken = self.speak(turns)
        write = self.shop.tasks.save(head, turns=spoken, task=task, events=[status_event(task)], held=False)
        ended = self.write(actor, head, write)
        if ended is not None:
            truth = self.truths[task_id]
            truth.turns += [turn.text for turn in spoken]
            truth.state, truth.held, truth.version = ending, False, truth.version + 1
            self.remember(actor, ended)
        self.check(task_id)

    @rule(actor=actors, task_id=task_ids, message_id=message_ids)
    def follow_up(self, actor: str, task_id: str, message_id: str) -> None:
        head = self.head(actor, task_id)
        if head is None or not head.waiting:
            return
        task = with_status(head.task, TaskState.TASK_STATE_SUBMITTED)
        spoken = self.speak(1)
        record = MessageRecord(message_id, task_id, "digest")
        write = self.shop.tasks.save(
            head, turns=spoken, messages=[record], task=task, events=[status_event(task)], lease_end=self.shop.now
        )
        done = self.write(actor, head, write, also=not self.known(message_id))
        if done is not None:
            truth = self.truths[task_id]
            truth.turns += [spoken[0].text]
            truth.state, truth.version, truth.lease_end = "SUBMITTED", truth.version + 1, self.shop.now
            self.messages[message_id] = (task_id, truth.expires)
            self.remember(actor, done)
        self.check(task_id)

    @rule()
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

    @rule(seconds=st.sampled_from((1.0, 31.0, 91.0, 700.0)))
    def tick(self, seconds: float) -> None:
        self.shop.now += seconds

    @precondition(lambda self: len(self.truths) == len(TASKS))
    @rule()
    def expire(self) -> None:
        self.shop.now += DAYS * 24 * 3600

    @rule()
    def clean(self) -> None:
        self.shop.clean()
        for truth in self.truths.values():
            truth.gone |= truth.expires <= self.shop.now

    # What must hold after each of them.

    @invariant()
    def no_two_could_write(self) -> None:
        """Of all who believe that they hold a task, one at most is not yet superseded."""
        for task_id, truth in self.truths.items():
            believers = {
                head.run for (_, own), (head, mark) in self.seen.items() if own == task_id and mark == truth.mark
            }
            assert len(believers) <= 1

    def check(self, task_id: str) -> None:
        """The table says of the task what the model says, down to each of its items."""
        truth = self.truths.get(task_id)
        items = self.shop.items(f"{AGENT}#{OWNER}#{task_id}")
        if truth is None or truth.gone:
            assert items == []
            return
        [head] = [item for item in items if item["sk"]["S"] == "head"]
        turns = [item["sk"]["S"] for item in items if item["sk"]["S"].startswith("turn#")]
        events = [item["sk"]["S"] for item in items if item["sk"]["S"].startswith("event#")]
        assert turns == [f"turn#{number:06d}" for number in range(len(truth.turns))]
        assert events == [f"event#{number:012d}" for number in range(1, truth.version + 1)]
        assert head["state"]["S"] == f"TASK_STATE_{truth.state}"
        mark = (int(head["version"]["N"]), int(head["run"]["N"]), int(head["turns"]["N"]), head["held"]["BOOL"])
        assert mark == truth.mark
        assert ("open_key" in head) == truth.open
        assert ("lease_end" in head) == truth.open
        if truth.open:
            assert float(head["lease_end"]["N"]) == truth.lease_end

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

    def head(self, actor: str, task_id: str) -> Head | None:
        return self.seen[actor, task_id][0] if (actor, task_id) in self.seen else None

    def holding(self, actor: str, task_id: str) -> Head | None:
        """The head, where its run is one that was given to this actor, as far as he knows."""
        head = self.head(actor, task_id)
        return head if head is not None and head.held else None

    def given(self, task_id: str, head: Head) -> None:
        assert (task_id, head.run) not in self.runs, "two have a run of the same number"
        self.runs.add((task_id, head.run))

    def known(self, message_id: str) -> bool:
        return message_id in self.messages and self.messages[message_id][1] > self.shop.now

    def speak(self, count: int) -> list[Turn]:
        self.said += count
        return [Turn("user", f"word {self.said - place}") for place in range(count)]


def state_number(name: str) -> TaskState:
    return TaskState.Value(f"TASK_STATE_{name}")  # type: ignore[return-value]


TestStore = pytest.mark.timeout(120)(Store.TestCase)
TestStore.settings = settings(
    max_examples=60,
    stateful_step_count=40,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=list(HealthCheck),
)
