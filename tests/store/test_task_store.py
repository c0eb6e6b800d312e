"""One door for writes: who wins, who loses, and what is there afterwards."""

import asyncio
import dataclasses
from collections.abc import Callable, Coroutine
from typing import Any

import pytest
from a2a.types import TaskState

from agentfn.aws_clients import aws_client
from agentfn.errors import ConflictError, StoredDataError
from agentfn.models import ToolCall, Turn, Usage
from agentfn.runs.task_updates import with_status
from agentfn.store import DynamoTaskStore, MessageRecord, TaskRecord
from agentfn.store.task_events import status_event
from agentfn.tools import FileRecord

TURN = Turn("user", "hi")
RECORD = MessageRecord("m1", "t1", "digest")


def ended(head: TaskRecord, state: int = TaskState.TASK_STATE_COMPLETED) -> dict[str, Any]:
    task = with_status(head.task, state, "Done.")  # type: ignore[arg-type]
    return {"task": task, "events": [status_event(task)], "leased": False}


def test_what_was_created_is_read_back_whole(world: Any) -> None:
    turns = [
        Turn("user", "é 😀 \x00"),
        Turn("assistant", "", (ToolCall("a", "f", '{"n": 12345678901234567890}'),), usage=Usage(1, 2, 3, 0.25)),
        Turn("tool", "r", tool_call_id="a", tool_name="f"),
        Turn("assistant", "x", truncated=True),
    ]
    files = (FileRecord("a.txt", "text/plain", 3, "attached", "key"), FileRecord("b", "x/y", 0, "produced", url="u"))
    made = world.run(world.tasks.create(world.head(skill="s", files=files), [RECORD], turns))
    head, loaded = world.run(world.tasks.read_with_turns("alice", "t1"))
    assert head == made
    assert loaded == turns
    assert world.run(world.tasks.read("alice", "t1")) == made
    assert world.run(world.tasks.find_message("alice", "m1")) == RECORD
    assert (made.version, made.turn_count, made.expires) == (1, 4, int(world.clock()) + 30 * 24 * 3600)


def test_what_is_not_there_or_is_somebody_elses_is_nothing(world: Any) -> None:
    world.run(world.tasks.create(world.head(), [RECORD]))
    assert world.run(world.tasks.read("bob", "t1")) is None
    assert world.run(world.tasks.read_with_turns("bob", "t1")) is None
    assert world.run(world.tasks.find_message("bob", "m1")) is None
    assert world.run(world.tasks.read("alice", "t2")) is None
    other = DynamoTaskStore(world.tasks._table, world.tasks._codec, "other", 30, world.clock)
    assert world.run(other.read("alice", "t1")) is None


def test_one_task_and_one_message_are_created_once(world: Any) -> None:
    world.run(world.tasks.create(world.head("t1"), [RECORD]))
    before = world.items()
    for head, record in (
        (world.head("t1"), None),
        (world.head("t2"), RECORD),
        (world.head("t1"), dataclasses.replace(RECORD, message_id="m2")),
    ):
        with pytest.raises(ConflictError):
            world.run(world.tasks.create(head, [record] if record else (), [TURN]))
    assert world.items() == before  # all or nothing
    assert world.run(world.tasks.create(world.head("t1", owner="bob"), [RECORD])).owner == "bob"


def test_two_who_create_at_once_make_one(world: Any) -> None:
    async def race() -> list[Any]:
        heads = [world.head(f"t{n}") for n in range(4)]
        creating = (world.tasks.create(head, [dataclasses.replace(RECORD, task_id=head.task.id)]) for head in heads)
        return await asyncio.gather(*creating, return_exceptions=True)

    outcomes = world.run(race())
    assert sum(isinstance(outcome, TaskRecord) for outcome in outcomes) == 1
    assert sum(isinstance(outcome, ConflictError) for outcome in outcomes) == 3
    assert len(world.items("head")) == 1


def test_what_has_expired_is_absent_and_makes_room(world: Any) -> None:
    """The table deletes late, and a client may send an old message id anew."""
    world.run(world.tasks.create(world.head(), [RECORD], [TURN, TURN]))
    world.clock.now += 30 * 24 * 3600
    assert world.run(world.tasks.read("alice", "t1")) is None
    assert world.run(world.tasks.read_with_turns("alice", "t1")) is None
    assert world.run(world.tasks.find_message("alice", "m1")) is None
    anew = world.run(world.tasks.create(world.head(), [RECORD], [Turn("user", "new")]))
    assert world.run(world.tasks.read_with_turns("alice", "t1")) == (anew, [Turn("user", "new")])


def test_a_submitted_task_is_working_once_it_is_taken(world: Any, state_of: Callable[[TaskRecord], str]) -> None:
    head = world.created()
    taken = world.run(world.tasks.acquire_lease(head, world.clock() + 90))
    assert (state_of(taken), taken.version, taken.run, taken.idle_runs, taken.leased) == ("working", 2, 1, 1, True)
    assert world.read() == taken
    again = world.run(world.tasks.acquire_lease(taken, world.clock() + 90))
    assert (again.version, again.run, again.idle_runs) == (2, 2, 2)


def test_of_many_who_take_a_task_at_once_one_has_it(world: Any) -> None:
    for state in ("submitted", "working"):
        head = world.read() if state == "working" else world.created()

        async def race(head: TaskRecord) -> list[Any]:
            taking = (world.tasks.acquire_lease(head, world.clock() + 90) for _ in range(5))
            return await asyncio.gather(*taking, return_exceptions=True)

        outcomes = world.run(race(head))
        assert [type(outcome) for outcome in outcomes].count(TaskRecord) == 1
        assert world.read().run == head.run + 1


Write = Callable[[DynamoTaskStore, TaskRecord], Coroutine[Any, Any, Any]]
WRITES: dict[str, Write] = {
    "renew": lambda tasks, head: tasks.renew_lease(head, 1e10),
    "turns": lambda tasks, head: tasks.save(head, turns=[TURN]),
    "many turns": lambda tasks, head: tasks.save(head, turns=[TURN] * 200),
    "progress": lambda tasks, head: tasks.save(head, **{**ended(head, TaskState.TASK_STATE_WORKING), "leased": True}),
    "end": lambda tasks, head: tasks.save(head, turns=[TURN], **ended(head)),
    "release": lambda tasks, head: tasks.save(head, leased=False),
    "files": lambda tasks, head: tasks.save(head, files=(FileRecord("a", "b/c", 1, "produced", "k"),)),
    "take": lambda tasks, head: tasks.acquire_lease(head, 1e10),
    "follow-up": lambda tasks, head: tasks.save(head, turns=[TURN], messages=[MessageRecord("m9", "t1", "d")]),
}
WON: dict[str, Write] = {
    "taken over": lambda tasks, head: tasks.acquire_lease(head, 1e10),
    "cancelled": lambda tasks, head: tasks.save(head, **ended(head, TaskState.TASK_STATE_CANCELED)),
    "went on": lambda tasks, head: tasks.save(head, turns=[Turn("assistant", "went on")]),
}


@pytest.mark.parametrize("won", WON)
def test_a_holder_whose_task_moved_on_is_refused_whatever_it_writes(world: Any, won: str) -> None:
    held = world.run(world.tasks.acquire_lease(world.created(), world.clock() + 1))
    world.run(WON[won](world.tasks, held))
    before = world.items()
    for write in WRITES.values():
        with pytest.raises(ConflictError):
            world.run(write(world.tasks, held))
        assert world.items() == before


def test_the_version_moves_with_the_task_and_with_nothing_else(world: Any) -> None:
    head = world.run(world.tasks.acquire_lease(world.created(), world.clock() + 90))
    assert head.version == 2
    for write in ("renew", "turns", "many turns", "files", "release"):
        head = world.run(WRITES[write](world.tasks, head))
        assert head.version == 2, write
        assert world.read() == head
    assert world.run(world.tasks.read_if_unchanged(head)) == head
    ended_head = world.run(world.tasks.save(head, **ended(head)))
    assert world.run(world.tasks.read_if_unchanged(head)) is None
    assert world.run(world.tasks.read_if_unchanged(ended_head)) == ended_head


def test_a_run_that_saves_a_turn_is_not_idle(world: Any) -> None:
    head = world.run(world.tasks.acquire_lease(world.created(), 1e10))
    assert head.idle_runs == 1
    assert world.run(world.tasks.renew_lease(head, 2e10)).idle_runs == 1
    assert world.run(world.tasks.save(head, turns=[TURN])).idle_runs == 0


def test_a_task_that_is_gone_is_watched_as_such(world: Any) -> None:
    head = world.created()
    world.run(world.tasks.delete(head))
    assert world.run(world.tasks.read_if_unchanged(head)) is None
    with pytest.raises(ConflictError):
        world.run(world.tasks.save(head, turns=[TURN]))


def test_a_deleted_tasks_turns_are_not_those_of_its_successor(world: Any) -> None:
    head = world.run(world.tasks.create(world.head(), (), [TURN] * 5))
    world.run(world.tasks.delete(head))
    anew = world.created()
    assert world.run(world.tasks.read_with_turns("alice", "t1")) == (anew, [])


def test_a_task_of_a_later_agentfn_is_not_read_wrongly(world: Any) -> None:
    head = world.created()
    aws_client("dynamodb").update_item(
        TableName=world.table,
        Key={"pk": {"S": head.partition_key}, "sk": {"S": "head"}},
        UpdateExpression="SET #s = :s",
        ExpressionAttributeNames={"#s": "schema"},
        ExpressionAttributeValues={":s": {"N": "2"}},
    )
    with pytest.raises(StoredDataError, match="schema 2, and this version of agentfn reads up to 1"):
        world.read()
