"""Fencing: the writes of a run that was frozen or read too early are refused."""

from collections.abc import Iterator
from typing import Any

import pytest
from a2a.types import Task, TaskState, TaskStatus

from agentfn.errors import ConflictError
from agentfn.models import Turn
from agentfn.runs.task_updates import with_status
from agentfn.store import TaskRecord
from agentfn.store.task_events import status_event
from agentfn.store.task_record import TERMINAL_STATES
from durability.store_harness import AGENT, StoreHarness

LEASE = 90.0


@pytest.fixture
def shop() -> Iterator[StoreHarness]:
    shop = StoreHarness()
    yield shop
    shop.close()


def held(shop: StoreHarness) -> TaskRecord:
    """A task in the hands of its first run."""
    task = Task(id="t1", context_id="c", status=TaskStatus(state=TaskState.TASK_STATE_WORKING))
    return shop.run(
        shop.tasks.acquire_lease(shop.run(shop.tasks.create(TaskRecord(AGENT, "alice", task))), shop.now + LEASE)
    )


def read(shop: StoreHarness) -> TaskRecord:
    head = shop.run(shop.tasks.read("alice", "t1"))
    assert head is not None
    return head


def test_whoever_takes_a_task_that_its_late_holder_lets_go_of_meanwhile_has_to_look_again(shop: StoreHarness) -> None:
    """Else the table would not say that it is held, and a third one could take it from a run that lives."""
    first = held(shop)
    shop.now += LEASE + 1
    seen = read(shop)  # held, by a run that seems to be dead
    shop.run(shop.tasks.save(first, leased=False, lease_end=shop.now))  # it was only slow
    with pytest.raises(ConflictError):
        shop.run(shop.tasks.acquire_lease(seen, shop.now + LEASE))
    second = shop.run(shop.tasks.acquire_lease(read(shop), shop.now + LEASE))
    assert read(shop) == second
    assert read(shop).is_leased_at(shop.now)


def ended(head: TaskRecord, state: TaskState) -> dict[str, Any]:
    task = with_status(head.task, state, "So it ends.")
    return {"task": task, "events": [status_event(task)], "leased": False}


@pytest.mark.parametrize("state", sorted(TERMINAL_STATES))
def test_a_task_that_has_ended_is_never_written_to(shop: StoreHarness, state: TaskState) -> None:
    """Not even by one who knows the end, and so would not lose a race."""
    head = held(shop)
    shop.run(shop.tasks.save(head, **ended(head, state)))
    last = read(shop)
    before = shop.items(last.partition_key)
    for other in TERMINAL_STATES:
        with pytest.raises(ConflictError):
            shop.run(shop.tasks.save(last, **ended(last, other)))
    for turns in ([], [Turn("user", "too late")]):
        with pytest.raises(ConflictError):
            shop.run(shop.tasks.save(last, turns=turns))
    assert shop.items(last.partition_key) == before
