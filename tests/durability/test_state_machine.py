"""Stateful tests: several actors work on the same tasks in any order, compared with a model of the store."""

from collections.abc import Iterator
from typing import Any

import pytest
from a2a.types import Task, TaskState, TaskStatus
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import precondition, rule

from agentfn.runs.task_updates import with_status
from agentfn.store import MessageRecord, TaskRecord
from agentfn.store.task_events import status_event
from agentfn.tools import FileRecord
from durability.store_harness import AGENT, RETENTION_DAYS
from durability.store_model import (
    OWNER,
    TERMINAL_STATES,
    WAITING_STATES,
    ExpectedTask,
    StoreActors,
    is_holding,
    is_not_terminal,
    is_takeable,
    is_waiting,
    shared_store,
    state_number,
)

pytestmark = pytest.mark.slow

LEASE = 90.0
AT_ONCE = 2  # tasks that are worked on at the same time
ACTORS = ("ann", "ben", "cid")

actors = st.sampled_from(ACTORS)
picks = st.integers(0, 99)  # one of those who can do something
message_ids = st.sampled_from(("m1", "m2", "m3", "m4"))
few_turns = st.integers(0, 3)
many_turns = st.sampled_from((*(0, 1, 2, 3) * 8, 92))  # the last one takes two transactions
endings = st.sampled_from((*TERMINAL_STATES, *WAITING_STATES * 3))


class Store(StoreActors):
    """What the actors do; after each of it the table is compared with the model."""

    @precondition(lambda self: len(self.unfinished()) < AT_ONCE)
    @rule(actor=actors, message_id=message_ids, here=st.booleans(), turns=few_turns)
    def create(self, actor: str, message_id: str, here: bool, turns: int) -> None:
        """Ids are new ones, as in life; messages may be old ones."""
        self.send(actor, f"t{len(self.expected) + 1}", message_id, here, turns)

    @precondition(lambda self: self.unexpired() and self.turn_count % 4 == 0)
    @rule(actor=actors, pick=picks, message_id=message_ids, here=st.booleans())
    def create_again(self, actor: str, pick: int, message_id: str, here: bool) -> None:
        self.send(actor, self.unexpired()[pick % len(self.unexpired())], message_id, here, 1)

    def send(self, actor: str, task_id: str, message_id: str, here: bool, turns: int) -> None:
        state = "WORKING" if here else "SUBMITTED"
        task = Task(id=task_id, context_id="c", status=TaskStatus(state=state_number(state)))
        head = TaskRecord(AGENT, OWNER, task, run=int(here), leased=here, lease_end=self.store.now + LEASE * here)
        spoken = self.make_turns(turns)
        record = MessageRecord(message_id, task_id, "digest")
        free = task_id not in self.expected and not self.is_known_message(message_id)
        made = self.expect(self.store.tasks.create(head, [record], spoken), free)
        if made is not None:
            expires = int(self.store.now) + RETENTION_DAYS * 24 * 3600
            words = [turn.text for turn in spoken]
            self.expected[task_id] = ExpectedTask(expires, state, here, head.lease_end, int(here), turns=words)
            self.messages[message_id] = (task_id, expires)
            self.record_run(actor, made) if here else None
            self.remember(actor, made)
        self.check_task(task_id)

    @precondition(lambda self: self.expected)
    @rule(looking=st.sets(actors, min_size=1), pick=picks)
    def look(self, looking: set[str], pick: int) -> None:
        task_id, truth = list(self.expected.items())[-1 - pick % min(AT_ONCE, len(self.expected))]
        found = self.store.run(self.store.tasks.read_with_turns(OWNER, task_id))
        if truth.expires <= self.store.now:
            assert found is None
            return
        assert found is not None
        assert [turn.text for turn in found[1]] == truth.turns
        for actor in sorted(looking):
            self.remember(actor, found[0])

    @precondition(lambda self: self.candidates(is_takeable))
    @rule(pick=picks)
    def take(self, pick: int) -> None:
        """Whoever sees an open task that nobody holds, by what he knows, takes it."""
        actor, task_id, head = self.pick(pick, is_takeable)
        until = self.store.now + LEASE
        moved = head.task.status.state == TaskState.TASK_STATE_SUBMITTED
        taken = self.write(actor, head, self.store.tasks.acquire_lease(head, until))
        if taken is not None:
            truth = self.expected[task_id]
            truth.run, truth.held, truth.lease_end, truth.state = truth.run + 1, True, until, "WORKING"
            truth.version += moved
            self.record_run(actor, taken)
            self.remember(actor, taken)
        self.check_task(task_id)

    @precondition(lambda self: self.candidates(is_holding))
    @rule(pick=picks, turns=many_turns, file=st.booleans(), told=st.booleans())
    def save(self, pick: int, turns: int, file: bool, told: bool) -> None:
        """A step of whoever believes that he holds the task, be he long superseded. A file comes with a result."""
        actor, task_id, head = self.pick(pick, is_holding)
        until = self.store.now + LEASE
        changes: dict[str, Any] = {"lease_end": until}
        if file:
            record = FileRecord(f"{len(head.files)}.txt", "text/plain", 1, "produced", "key")
            changes["files"] = (*head.files, record)
        if told:
            changes["task"] = with_status(head.task, TaskState.TASK_STATE_WORKING, "on it")
            changes["events"] = [status_event(changes["task"])]
        spoken = self.make_turns(max(turns, int(file)))
        saved = self.write(actor, head, self.store.tasks.save(head, turns=spoken, **changes))
        if saved is not None:
            truth = self.expected[task_id]
            truth.turns += [turn.text for turn in spoken]
            truth.version, truth.files, truth.lease_end = truth.version + told, truth.files + file, until
            self.remember(actor, saved)
        self.check_task(task_id)

    @precondition(lambda self: self.candidates(is_holding))
    @rule(pick=picks)
    def renew(self, pick: int) -> None:
        actor, task_id, head = self.pick(pick, is_holding)
        until = self.store.now + LEASE
        renewed = self.write(actor, head, self.store.tasks.renew_lease(head, until))
        if renewed is not None:
            self.expected[task_id].lease_end = until
            self.remember(actor, renewed)
        self.check_task(task_id)

    @precondition(lambda self: self.candidates(is_holding))
    @rule(pick=picks, rest=st.sampled_from((0.0, 30.0)))
    def suspend(self, pick: int, rest: float) -> None:
        actor, task_id, head = self.pick(pick, is_holding)
        until = self.store.now + rest
        left = self.write(actor, head, self.store.tasks.save(head, leased=False, lease_end=until))
        if left is not None:
            truth = self.expected[task_id]
            truth.held, truth.lease_end = False, until
            self.remember(actor, left)
        self.check_task(task_id)

    @precondition(lambda self: self.candidates(is_holding))
    @rule(pick=picks, ending=endings, turns=few_turns)
    def end(self, pick: int, ending: str, turns: int) -> None:
        actor, task_id, head = self.pick(pick, is_holding)
        self.finish(actor, task_id, head, ending, turns)

    @precondition(lambda self: self.candidates(is_not_terminal))
    @rule(pick=picks)
    def cancel(self, pick: int) -> None:
        """Anybody may, whoever holds the task."""
        actor, task_id, head = self.pick(pick, is_not_terminal)
        self.finish(actor, task_id, head, "CANCELED", 0)

    def finish(self, actor: str, task_id: str, head: TaskRecord, ending: str, turns: int) -> None:
        task = with_status(head.task, state_number(ending), "so it ends")
        spoken = self.make_turns(turns)
        write = self.store.tasks.save(head, turns=spoken, task=task, events=[status_event(task)], leased=False)
        ended = self.write(actor, head, write)
        if ended is not None:
            truth = self.expected[task_id]
            truth.turns += [turn.text for turn in spoken]
            truth.state, truth.held, truth.version = ending, False, truth.version + 1
            self.remember(actor, ended)
        self.check_task(task_id)

    @precondition(lambda self: self.candidates(is_holding))
    @rule(pick=picks, first=st.sampled_from(("renew", "suspend", "save")), late=st.booleans())
    def race(self, pick: int, first: str, late: bool) -> None:
        """Another one knows what the holder knows, and is slower."""
        actor, task_id, head = self.pick(pick, is_holding)
        other = next(name for name in ACTORS if name != actor)
        found = self.store.run(self.store.tasks.read(OWNER, task_id))
        if found is None or found.is_terminal:
            return
        self.remember(other, found)
        self.store.now += (LEASE + 1) * late
        held = self.candidates(is_holding).index((actor, task_id, head))
        if first == "renew":
            self.renew(held)
        elif first == "suspend":
            self.suspend(held, 0.0)
        else:
            self.save(held, 1, False, False)
        if is_takeable(found, self.store.now):
            self.take(self.candidates(is_takeable).index((other, task_id, found)))
        else:
            self.cancel(self.candidates(is_not_terminal).index((other, task_id, found)))

    @precondition(lambda self: self.candidates(is_waiting))
    @rule(pick=picks, message_id=message_ids)
    def follow_up(self, pick: int, message_id: str) -> None:
        actor, task_id, head = self.pick(pick, is_waiting)
        task = with_status(head.task, TaskState.TASK_STATE_SUBMITTED)
        spoken = self.make_turns(1)
        record = MessageRecord(message_id, task_id, "digest")
        write = self.store.tasks.save(
            head, turns=spoken, messages=[record], task=task, events=[status_event(task)], lease_end=self.store.now
        )
        done = self.write(actor, head, write, also=not self.is_known_message(message_id))
        if done is not None:
            truth = self.expected[task_id]
            truth.turns += [spoken[0].text]
            truth.state, truth.version, truth.lease_end = "SUBMITTED", truth.version + 1, self.store.now
            self.messages[message_id] = (task_id, truth.expires)
            self.remember(actor, done)
        self.check_task(task_id)

    @precondition(lambda self: self.expected)
    @rule(seconds=st.sampled_from((1.0, 31.0, 91.0, 91.0, 700.0)), sweep=st.booleans())
    def pass_time(self, seconds: float, sweep: bool) -> None:
        self.store.now += seconds
        if sweep:
            self.sweep()

    @precondition(lambda self: len(self.expected) > AT_ONCE)
    @rule(deleted=st.booleans())
    def expire(self, deleted: bool) -> None:
        """All that there is; whether the table is quick to delete it or not."""
        self.store.now += RETENTION_DAYS * 24 * 3600
        if deleted:
            self.store.delete_expired()
            for truth in self.expected.values():
                truth.deleted = True
            self.last_read = {who: seen for who, seen in self.last_read.items() if who[0] == ACTORS[0]}  # one will try


@pytest.fixture(autouse=True, scope="module")
def closing_time() -> Iterator[None]:
    yield
    shared_store().close()
    shared_store.cache_clear()


TestStore = pytest.mark.timeout(120)(Store.TestCase)
TestStore.settings = settings(
    max_examples=30,
    stateful_step_count=40,
    phases=(Phase.generate,),
    suppress_health_check=list(HealthCheck),
)
