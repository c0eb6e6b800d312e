"""What is written, how much of it, and where it goes when it is large."""

import json
from typing import Any

import pytest

from agentfn.models import Turn
from agentfn.store import MessageRecord
from agentfn.store.payload_codec import PayloadCodec
from agentfn.tools import FileRecord
from support.large_values import MAX_ITEM_BYTES, item_bytes, random_text

pytestmark = pytest.mark.slow


def test_what_a_step_writes_does_not_grow_with_the_steps_before(world: Any) -> None:
    head = world.created()
    world.requests.clear()
    for number in range(200):
        head = world.run(
            world.tasks.save(head, turns=[Turn("tool", f"result {number:03d}", tool_call_id="c", tool_name="f")])
        )
    sizes = [size for name, size in world.requests if name == "TransactWriteItems"]
    assert len(sizes) == 200
    assert max(sizes[100:]) - min(sizes[:10]) <= 8  # digits of a counter
    assert max(sizes) < 2_000
    assert set(world.request_counts()) == {"TransactWriteItems"}


def test_a_task_with_a_long_history_is_not_written_with_every_step(world: Any) -> None:
    head = world.head()
    head.task.metadata.update({"note": random_text(100_000)})
    head = world.run(world.tasks.create(head))
    world.requests.clear()
    head = world.run(world.tasks.save(head, turns=[Turn("user", "x")]))
    head = world.run(world.tasks.renew_lease(head, 5.0))
    assert all(size < 2_000 for _, size in world.requests)


def test_two_hundred_turns_are_saved_at_once_and_in_order(world: Any) -> None:
    turns = [Turn("tool", str(number), tool_call_id=str(number), tool_name="f") for number in range(200)]
    head = world.run(world.tasks.save(world.created(), turns=turns))
    assert head.turn_count == 200
    assert world.run(world.tasks.read_with_turns("alice", "t1")) == (head, turns)
    assert world.request_counts()["TransactWriteItems"] == 1 + 3


def test_no_transaction_is_larger_than_dynamodb_takes(world: Any) -> None:
    turns = [Turn("tool", random_text(250_000, seed), tool_call_id=str(seed), tool_name="f") for seed in range(24)]
    head = world.run(world.tasks.save(world.created(), turns=turns))
    assert world.run(world.tasks.read_with_turns("alice", "t1")) == (head, turns)
    assert max(size for _, size in world.requests) < 4_000_000


def test_a_turn_of_five_megabytes_spills_and_comes_back(world: Any) -> None:
    turn = Turn("tool", random_text(5_000_000), tool_call_id="c", tool_name="f")
    head = world.run(world.tasks.save(world.created(), turns=[turn]))
    assert world.run(world.tasks.read_with_turns("alice", "t1")) == (head, [turn])
    [item] = world.items("turn#")
    assert item["turn"]["M"]["key"]["S"].startswith("clerk/alice/t1/spill/")
    assert item_bytes(item) < 1_000


def test_a_task_and_its_files_spill_and_come_back(world: Any) -> None:
    head = world.head()
    head.task.metadata.update({"note": random_text(900_000)})
    files = tuple(
        FileRecord(random_text(150, n), "a/b", n, "produced", f"clerk/alice/t1/produced/{n}") for n in range(1500)
    )
    made = world.run(world.tasks.create(head))
    made = world.run(world.tasks.save(made, files=files))
    assert world.read() == made


def test_no_item_is_over_the_limit_whatever_comes_together(world: Any) -> None:
    head = world.head()
    head.task.metadata.update({"note": random_text(515_000)})  # compressed, just under what spills
    files = tuple(FileRecord(random_text(150, n), "a/b", n, "produced", random_text(60, n)) for n in range(1000))
    made = world.run(world.tasks.create(head))
    made = world.run(world.tasks.save(made, files=files, turns=[Turn("user", random_text(515_000))]))
    assert 290_000 < max(item_bytes(item) for item in world.items()) < MAX_ITEM_BYTES
    assert world.read() == made


def test_small_text_is_readable_and_large_text_is_compressed(world: Any) -> None:
    packed = world.tasks._codec.encode("x" * 4_000, "p/")
    assert packed == "x" * 4_000
    larger = world.tasks._codec.encode("é" * 4_001, "p/")
    assert len(larger) < 100
    assert world.tasks._codec.decode(larger) == "é" * 4_001


def test_each_spill_has_a_key_of_its_own(world: Any) -> None:
    payloads: PayloadCodec = world.tasks._codec
    one, other = (payloads.encode(random_text(700_000), "p/") for _ in range(2))
    assert one["key"] != other["key"]
    assert payloads.decode(one) == payloads.decode(other)


def test_numbers_keep_all_their_digits(world: Any) -> None:
    arguments = json.dumps({"n": 2**70, "x": 0.1})
    turn = Turn("assistant", arguments)
    world.run(world.tasks.save(world.created(), turns=[turn]))
    assert world.run(world.tasks.read_with_turns("alice", "t1"))[1] == [turn]


def test_everything_expires(world: Any) -> None:
    world.run(world.tasks.create(world.head(), [MessageRecord("m", "t1", "d")], [Turn("user", "x")]))
    assert {item["sk"]["S"] for item in world.items()} == {"head", "turn#000000", "event#000000000001", "message"}
    assert {item["expires"]["N"] for item in world.items()} == {str(int(world.clock()) + 30 * 24 * 3600)}
