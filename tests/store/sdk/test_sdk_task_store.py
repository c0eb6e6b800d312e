"""The sdk's own interface: what `VersionedTaskStore` promises, and how its in-memory and database stores behave."""

import asyncio
import itertools
from typing import Any

import pytest
from a2a.server.cluster.task_store import ConcurrentTaskModificationError
from a2a.server.cluster.version import TaskVersion
from a2a.server.context import ServerCallContext
from a2a.types import Task, TaskStatus

from agentfn.auth.identity import Principal
from agentfn.store.sdk import SdkTaskStore
from agentfn.store.task_events import status_event

MISSING = TaskVersion.MISSING
TERMINAL = ["COMPLETED", "FAILED", "CANCELED", "REJECTED"]


def as_caller(name: str = "alice") -> ServerCallContext:
    return ServerCallContext(user=Principal(name))


def task_in(state: str, task_id: str = "t1") -> Task:
    return Task(id=task_id, context_id="c1", status=TaskStatus(state=f"TASK_STATE_{state}"))


class Shop:
    """The store with its calls made synchronous."""

    def __init__(self, world: Any) -> None:
        self.world = world
        self.store = SdkTaskStore(world.tasks)

    def save(self, task: Task, prev: TaskVersion = MISSING, owner: str = "alice", event: Any = None) -> TaskVersion:
        saved: TaskVersion = self.world.run(
            self.store.save(task, event=event, prev=None, prev_version=prev, context=as_caller(owner))
        )
        return saved

    def get(self, task_id: str = "t1", owner: str = "alice") -> Any:
        return self.world.run(self.store.get(task_id, as_caller(owner)))

    def delete(self, task_id: str = "t1", owner: str = "alice") -> None:
        self.world.run(self.store.delete(task_id, as_caller(owner)))


@pytest.fixture
def shop(world: Any) -> Shop:
    return Shop(world)


def test_each_write_gives_a_later_version_and_a_read_gives_the_last_one(shop: Shop) -> None:
    versions = [shop.save(task_in("SUBMITTED"))]
    for state in ("WORKING", "WORKING", "INPUT_REQUIRED", "COMPLETED"):
        versions.append(shop.save(task_in(state), versions[-1]))
        stored = shop.get()
        assert (stored.task, stored.version) == (task_in(state), versions[-1])
    assert versions == [TaskVersion(number) for number in range(1, 6)]
    assert all(later.is_after(earlier) for earlier, later in itertools.pairwise(versions))


def test_a_stale_version_is_refused_and_changes_nothing(shop: Shop) -> None:
    first = shop.save(task_in("SUBMITTED"))
    second = shop.save(task_in("WORKING"), first)
    for stale in (first, MISSING, TaskVersion(7), TaskVersion("2")):
        with pytest.raises(ConcurrentTaskModificationError) as caught:
            shop.save(task_in("COMPLETED"), stale)
        assert caught.value.task_id == "t1"
    assert (shop.get().task, shop.get().version) == (task_in("WORKING"), second)


def test_a_first_write_needs_no_version_and_only_a_first_one_may_do_without(shop: Shop) -> None:
    with pytest.raises(ConcurrentTaskModificationError):
        shop.save(task_in("WORKING"), TaskVersion(1))
    shop.save(task_in("WORKING"))
    with pytest.raises(ConcurrentTaskModificationError):
        shop.save(task_in("WORKING"))


def test_of_two_first_writers_one_wins(shop: Shop) -> None:
    async def race() -> list[Any]:
        saving = (
            shop.store.save(task_in("WORKING"), event=None, prev=None, prev_version=MISSING, context=as_caller())
            for _ in range(4)
        )
        return await asyncio.gather(*saving, return_exceptions=True)

    outcomes = shop.world.run(race())
    assert outcomes.count(TaskVersion(1)) == 1
    assert sum(isinstance(outcome, ConcurrentTaskModificationError) for outcome in outcomes) == 3


@pytest.mark.parametrize("state", ["SUBMITTED", "WORKING", "INPUT_REQUIRED", "AUTH_REQUIRED"])
@pytest.mark.parametrize("version", [MISSING, TaskVersion(99)])
def test_a_cancel_overwrites_what_has_not_ended_without_a_version(shop: Shop, state: str, version: TaskVersion) -> None:
    first = shop.save(task_in(state))
    cancelled = shop.save(task_in("CANCELED"), version)
    assert cancelled.is_after(first)
    assert shop.get().task == task_in("CANCELED")
    with pytest.raises(ConcurrentTaskModificationError):
        shop.save(task_in("COMPLETED"), first)  # who worked on it comes too late


@pytest.mark.parametrize("state", TERMINAL[:2] + TERMINAL[3:])
def test_a_cancel_of_what_has_ended_is_refused(shop: Shop, state: str) -> None:
    version = shop.save(task_in(state))
    for given in (version, MISSING):
        with pytest.raises(ConcurrentTaskModificationError):
            shop.save(task_in("CANCELED"), given)
    assert shop.get().task == task_in(state)


def test_a_cancel_of_nothing_or_of_a_cancelled_task_is_refused(shop: Shop) -> None:
    with pytest.raises(ConcurrentTaskModificationError):
        shop.save(task_in("CANCELED"))
    shop.save(task_in("WORKING"))
    shop.save(task_in("CANCELED"))
    with pytest.raises(ConcurrentTaskModificationError):
        shop.save(task_in("CANCELED"))


def test_a_cancel_wins_over_a_run_that_holds_the_task(shop: Shop) -> None:
    world = shop.world
    held = world.run(world.tasks.acquire_lease(world.created(), 1e10))
    shop.save(task_in("CANCELED"))
    head = world.read()
    assert (head.is_terminal, head.leased) == (True, False)
    with pytest.raises(Exception, match="changed by somebody else"):
        world.run(world.tasks.renew_lease(held, 2e10))


def test_the_event_of_a_write_is_in_the_log_under_its_version(shop: Shop) -> None:
    version = shop.save(task_in("SUBMITTED"))
    task = task_in("WORKING")
    shop.save(task, version, event=status_event(task).status_update)
    assert [item["sk"]["S"] for item in shop.world.items("event#")] == ["event#000000000001", "event#000000000002"]


def test_owners_are_apart(shop: Shop) -> None:
    shop.save(task_in("WORKING"))
    assert shop.get(owner="bob") is None
    assert shop.save(task_in("SUBMITTED"), owner="bob") == TaskVersion(1)
    shop.delete(owner="bob")
    assert shop.get().task == task_in("WORKING")
    assert shop.get(owner="bob") is None


def test_what_was_deleted_is_gone_and_can_be_written_anew(shop: Shop) -> None:
    version = shop.save(task_in("WORKING"))
    shop.delete()
    shop.delete()  # nothing to delete is no error
    assert shop.get() is None
    with pytest.raises(ConcurrentTaskModificationError):
        shop.save(task_in("COMPLETED"), version)
    assert shop.save(task_in("SUBMITTED")) == TaskVersion(1)


def test_what_is_changed_after_the_save_or_the_read_is_not_changed_in_the_store(shop: Shop) -> None:
    task = task_in("WORKING")
    shop.save(task)
    task.context_id = "changed"
    shop.get().task.context_id = "changed too"
    assert shop.get().task.context_id == "c1"
