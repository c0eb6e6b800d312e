"""The list of an owner's tasks: filters, order and pages."""

import base64
import itertools
import json
from collections.abc import Iterator
from typing import Any

import pytest
from a2a.server.context import ServerCallContext
from a2a.types import ListTasksRequest, ListTasksResponse, Task, TaskState, TaskStatus
from a2a.utils.errors import InvalidParamsError
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agentfn.auth.identity import Principal
from agentfn.store import TaskRecord
from agentfn.store.sdk import SdkTaskStore

START = 1_800_000_000


def put(
    world: Any, task_id: str, second: float = 0, state: str = "WORKING", context: str = "c1", owner: str = "alice"
) -> TaskRecord:
    task = Task(id=task_id, context_id=context, status=TaskStatus(state=f"TASK_STATE_{state}"))
    task.status.timestamp.FromMicroseconds(int((START + second) * 1_000_000))
    made: TaskRecord = world.run(world.tasks.create(TaskRecord("clerk", owner, task)))
    return made


def page(world: Any, owner: str = "alice", after: float | None = None, **filters: Any) -> ListTasksResponse:
    params = ListTasksRequest(**filters)
    if after is not None:
        params.status_timestamp_after.FromMicroseconds(int((START + after) * 1_000_000))
    context = ServerCallContext(user=Principal(owner))
    found: ListTasksResponse = world.run(SdkTaskStore(world.tasks).list(params, context))
    return found


def ids(found: ListTasksResponse) -> list[str]:
    return [task.id for task in found.tasks]


def pages(world: Any, **filters: Any) -> Iterator[list[str]]:
    token = ""
    for _ in range(50):
        found = page(world, page_token=token, **filters)
        yield ids(found)
        token = found.next_page_token
        if not token:
            return
    raise AssertionError("there is no end")


def touch(world: Any, task_id: str, second: float) -> None:
    head = world.read(task_id)
    task = Task()
    task.CopyFrom(head.task)
    task.status.timestamp.FromMicroseconds(int((START + second) * 1_000_000))
    world.run(world.tasks.save(head, task=task))


def test_the_last_changed_comes_first_and_equals_go_by_their_ids(world: Any) -> None:
    for task_id, second in (("b", 1), ("a", 1), ("c", 0), ("d", 1.000001), ("e", 2)):
        put(world, task_id, second)
    world.run(world.tasks.create(TaskRecord("clerk", "alice", Task(id="never", context_id="c1"))))
    assert ids(page(world)) == ["e", "d", "b", "a", "c", "never"]


def test_filters_narrow_the_list_and_its_total(world: Any) -> None:
    put(world, "a", 1, "WORKING", "c1")
    put(world, "b", 2, "COMPLETED", "c1")
    put(world, "c", 3, "COMPLETED", "c2")
    put(world, "d", 4, "COMPLETED", "c1", owner="bob")
    done = TaskState.TASK_STATE_COMPLETED
    cases: list[tuple[dict[str, Any], list[str]]] = [
        ({}, ["c", "b", "a"]),
        ({"context_id": "c1"}, ["b", "a"]),
        ({"status": done}, ["c", "b"]),
        ({"context_id": "c1", "status": done}, ["b"]),
        ({"after": 2}, ["c", "b"]),
        ({"after": 2.000001}, ["c"]),
        ({"after": 1, "status": done, "context_id": "c1"}, ["b"]),
        ({"context_id": "c3"}, []),
        ({"context_id": "c1", "owner": "bob"}, ["d"]),
        ({"owner": "nobody"}, []),
    ]
    for filters, expected in cases:
        found = page(world, **filters)
        assert (ids(found), found.total_size, found.next_page_token) == (expected, len(expected), ""), filters


@pytest.mark.parametrize("size", [1, 3, 7])
def test_pages_of_any_size_make_up_the_list(world: Any, size: int) -> None:
    for number in range(7):
        put(world, f"t{number}", number // 2, "COMPLETED" if number % 3 else "WORKING")
    everything = ids(page(world))
    found = list(pages(world, page_size=size))
    assert list(itertools.chain.from_iterable(found)) == everything
    assert len(found) == -(-7 // size)
    first = page(world, page_size=size)
    assert (first.page_size, first.total_size) == (size, 7)
    narrow = list(pages(world, page_size=size, status=TaskState.TASK_STATE_COMPLETED, context_id="c1", after=1))
    assert list(itertools.chain.from_iterable(narrow)) == ["t5", "t4", "t2"]


def test_a_page_has_fifty_unless_asked_otherwise_and_may_have_more_than_a_batch(world: Any) -> None:
    for number in range(103):
        put(world, f"t{number:03d}", number)
    found = page(world)
    assert (len(found.tasks), found.page_size, found.total_size) == (50, 50, 103)
    assert [len(part) for part in pages(world)] == [50, 50, 3]
    assert [len(part) for part in pages(world, page_size=102)] == [102, 1]


def test_a_token_holds_its_place_whatever_becomes_of_the_task_it_ended_with(world: Any) -> None:
    for number in range(6):
        put(world, f"t{number}", number)
    first = page(world, page_size=2)
    assert ids(first) == ["t5", "t4"]
    touch(world, "t4", 100)  # moves to the top
    world.run(world.tasks.delete(world.read("t3")))
    put(world, "new", 200)
    second = page(world, page_size=2, page_token=first.next_page_token)
    assert ids(second) == ["t2", "t1"]
    world.run(world.tasks.delete(world.read("t1")))
    assert ids(page(world, page_size=2, page_token=second.next_page_token)) == ["t0"]


def test_a_task_that_moves_while_a_page_is_read_neither_ends_the_list_nor_repeats_it(world: Any) -> None:
    for number in range(4):
        put(world, f"t{number}", number)
    batch = world.tasks._table.batch_get

    async def slow(keys: Any) -> Any:
        """The index was read; before the tasks are, the last one of the page is deleted."""
        head = await world.tasks.read("alice", "t2")
        if head is not None:
            await world.tasks.delete(head)
        return await batch(keys)

    world.tasks._table.batch_get = slow
    first = page(world, page_size=2)
    assert ids(first) == ["t3"]
    assert ids(page(world, page_size=2, page_token=first.next_page_token)) == ["t1", "t0"]


def token(shape: Any) -> str:
    return base64.urlsafe_b64encode(json.dumps(shape).encode()).decode().rstrip("=")


BAD = [
    "x",
    "!!!",
    "é",
    token({}),
    token([]),
    token(7),
    token({"after": 7}),
    token({"after": ["2027"]}),
    token({"after": "t1"}),
    token({"after": "2027-01-15T08:00:00.000000Z#"}),
    token({"after": "2027-01-15T08:00:00.000000Z#" + "x" * 5000}),
    token({"ts": 1, "id": "t1"}),
    base64.urlsafe_b64encode(b"[" * 100_000).decode(),
]


def test_a_token_that_was_not_given_out_is_refused(world: Any) -> None:
    put(world, "t1")
    for bad in BAD:
        with pytest.raises(InvalidParamsError, match="page token"):
            page(world, page_token=bad)


def test_a_token_of_another_list_shows_nothing_of_another_owner(world: Any) -> None:
    for number in range(4):
        put(world, f"a{number}", number)
        put(world, f"b{number}", number + 0.5, owner="bob")
    given_to_bob = page(world, owner="bob", page_size=1).next_page_token
    assert all(task_id.startswith("a") for task_id in ids(page(world, page_token=given_to_bob)))
    with pytest.raises(InvalidParamsError, match="for this list"):
        page(world, page_token=page(world, page_size=3).next_page_token, after=2)


def test_what_has_expired_is_not_listed(world: Any) -> None:
    put(world, "old")
    world.clock.now += 20 * 24 * 3600
    put(world, "new")
    world.clock.now += 20 * 24 * 3600
    found = page(world)
    assert (ids(found), found.total_size) == (["new"], 1)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow], max_examples=40)
@given(st.text(max_size=60))
def test_no_token_breaks_it(world: Any, text: str) -> None:
    try:
        page(world, page_token=text)
    except InvalidParamsError:
        assert text
