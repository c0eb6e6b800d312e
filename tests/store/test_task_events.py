"""The log of a task's events, and the index of tasks that are not done."""

import json
from typing import Any

import pytest
from a2a.types import Task, TaskState

from agentfn.aws_clients import aws_client
from agentfn.models import Turn
from agentfn.runs.task_updates import with_status
from agentfn.store import TaskRecord
from agentfn.store.task_events import artifact_event, status_event

ENDS = ["COMPLETED", "FAILED", "CANCELED", "REJECTED"]
WAITS = ["INPUT_REQUIRED", "AUTH_REQUIRED"]


def state(name: str) -> Any:
    return TaskState.Value(f"TASK_STATE_{name}")


def moved(world: Any, head: TaskRecord, name: str, text: str = "") -> TaskRecord:
    task = with_status(head.task, state(name), text)
    saved: TaskRecord = world.run(world.tasks.save(head, task=task, events=[status_event(task)]))
    return saved


def log(world: Any) -> list[tuple[str, list[Any]]]:
    return [(item["sk"]["S"], json.loads(item["events"]["S"])) for item in world.items("event#")]


def unfinished(world: Any) -> list[str]:
    """Ids of the tasks in the index of open ones, by the end of their leases."""
    answer = aws_client("dynamodb").query(
        TableName=world.table,
        IndexName="open",
        KeyConditionExpression="open_key = :open",
        ExpressionAttributeValues={":open": {"S": "clerk#open"}},
    )
    return [item["pk"]["S"].rsplit("#", 1)[-1] for item in answer["Items"]]


def test_events_are_numbered_without_a_gap_and_start_with_the_task_as_it_was(world: Any) -> None:
    head = world.created()
    head = world.run(world.tasks.acquire_lease(head, world.clock() + 90))
    for number in range(12):
        head = world.run(world.tasks.save(head, turns=[Turn("user", "x")]))  # no news for a stream
        head = moved(world, head, "WORKING", f"step {number}")
    head = moved(world, head, "COMPLETED")
    entries = log(world)
    assert [name for name, _ in entries] == [f"event#{number:012d}" for number in range(1, 16)]
    assert head.version == 15
    assert entries[0][1][0]["task"]["id"] == "t1"
    assert entries[1][1][0]["statusUpdate"]["status"]["state"] == "TASK_STATE_WORKING"
    assert entries[-1][1][0]["statusUpdate"]["status"]["state"] == "TASK_STATE_COMPLETED"


def test_what_one_change_makes_stays_together_and_in_order(world: Any) -> None:
    head = world.created()
    task: Task = with_status(head.task, state("COMPLETED"), "Done.")
    for number in range(3):
        task.artifacts.add(artifact_id=str(number), name=f"{number}.txt")
    events = [*(artifact_event(task, artifact) for artifact in task.artifacts), status_event(task)]
    world.run(world.tasks.save(head, task=task, events=events))
    _, (_, written) = log(world)
    assert [next(iter(event)) for event in written] == ["artifactUpdate"] * 3 + ["statusUpdate"]
    assert all(event["artifactUpdate"]["lastChunk"] for event in written[:3])


def test_a_write_that_lost_leaves_no_event(world: Any) -> None:
    head = world.run(world.tasks.acquire_lease(world.created(), 1e10))
    moved(world, head, "CANCELED")
    before = log(world)
    with pytest.raises(Exception, match="changed by somebody else"):
        moved(world, head, "COMPLETED")
    assert log(world) == before


def test_the_index_of_open_tasks_holds_those_that_need_a_run_and_no_others(world: Any) -> None:
    for name in [*ENDS, *WAITS]:
        head = world.created(name)
        assert unfinished(world) == [name]
        head = world.run(world.tasks.acquire_lease(head, 1e10))
        assert unfinished(world) == [name]
        head = moved(world, head, name)
        assert unfinished(world) == [], name
        if name in WAITS:
            moved(world, head, "SUBMITTED")
            assert unfinished(world) == [name]
            moved(world, world.read(name), "FAILED")


def test_open_tasks_come_by_the_end_of_their_leases(world: Any) -> None:
    ends = {"late": 300.5, "soon": 100.25, "middle": 200.0}
    for name, end in ends.items():
        world.run(world.tasks.renew_lease(world.created(name), end))
    assert unfinished(world) == ["soon", "middle", "late"]
    assert world.read("soon").lease_end == 100.25


def test_a_lease_holds_until_its_end_and_only_while_it_is_held(world: Any) -> None:
    head = world.run(world.tasks.acquire_lease(world.created(), 100.0))
    assert (head.is_leased_at(99.9), head.is_leased_at(100.0)) == (True, False)
    released = world.run(world.tasks.save(head, leased=False))
    assert not released.is_leased_at(0.0)
