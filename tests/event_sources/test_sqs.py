"""The queue's door: late, twice, or for nothing."""

import asyncio
import json
import time
from typing import Any

import pytest

from agentfn.aws_clients import aws_client
from agentfn.models import ModelRequest, ToolCall
from agentfn.testing import LocalLambdaContext, ScriptedModel, calls, pause, queue_event
from conftest import SideEffects, status_text, task_state


def body(task_id: str, *, version: int = 1, sent: float | None = None) -> str:
    when = time.time() if sent is None else sent
    return json.dumps({"owner": "alice", "task": task_id, "version": version, "sent": when})


def test_a_message_delivered_twice_and_once_more_does_its_work_once(play: Any, ledger: SideEffects) -> None:
    stage = play(ScriptedModel(calls("book", seat=1), "Booked."))
    task = stage.send("Book!", wait=False)
    [message] = stage.receive_messages()
    for _ in range(3):
        stage.deliver_message(message)
    done = stage.get(task["id"])
    assert ledger.entries == ["book 1"]
    assert (task_state(done), status_text(done)) == ("completed", "Booked.")


def test_a_message_for_a_task_that_never_came_to_be_is_dropped_when_it_is_old(play: Any) -> None:
    stage = play(ScriptedModel())
    old = {"MessageId": "m", "ReceiptHandle": "r", "Body": body("none", sent=time.time() - 100)}
    assert stage.handler(queue_event(old), LocalLambdaContext(60)) == {"batchItemFailures": []}
    assert stage.aws_calls["SendMessage"] == 0


def test_a_message_that_is_faster_than_its_task_comes_again(play: Any) -> None:
    stage = play(ScriptedModel())
    aws_client("sqs").send_message(QueueUrl=stage.resources.queue_url, MessageBody=body("none"))
    [message] = stage.receive_messages()
    stage.aws_calls.clear()
    stage.deliver_message(message)
    assert stage.aws_calls["SendMessage"] == 1


def test_a_message_that_is_faster_than_the_follow_up_it_is_for_comes_again(play: Any) -> None:
    stage = play(ScriptedModel(calls("ask_user", question="Which city?")))
    task = stage.send("Weather?")
    aws_client("sqs").send_message(QueueUrl=stage.resources.queue_url, MessageBody=body(task["id"], version=3))
    [message] = stage.receive_messages()
    stage.aws_calls.clear()
    stage.deliver_message(message)
    assert stage.aws_calls["SendMessage"] == 1
    aws_client("sqs").send_message(QueueUrl=stage.resources.queue_url, MessageBody=body(task["id"], version=2))
    [message] = stage.receive_messages()
    stage.aws_calls.clear()
    stage.deliver_message(message)
    assert stage.aws_calls["SendMessage"] == 0  # the task waits for its user


def test_a_message_that_is_no_continuation_is_dropped(play: Any) -> None:
    stage = play(ScriptedModel())
    bodies = [
        "",
        "{}",
        "[1]",
        "no json",
        '{"owner": 1}',
        "null",
        '{"owner": "a", "task": "b", "version": "c", "sent": 0}',
    ]
    messages = [{"MessageId": f"m{n}", "ReceiptHandle": "r", "Body": body} for n, body in enumerate(bodies)]
    assert stage.handler(queue_event(*messages), LocalLambdaContext(60)) == {"batchItemFailures": []}


def test_a_message_that_meets_a_lease_waits_until_it_ends(play: Any) -> None:
    stage = play(ScriptedModel(pause(3), "Done."), reserve_seconds=0.5)
    task = stage.send("Hi!", wait=False)
    [message] = stage.receive_messages()
    # A run that died while it held the task: its process is gone, its lease is not.
    aws_client("dynamodb").update_item(
        TableName=stage.resources.table,
        Key={"pk": {"S": f"clerk#alice#{task['id']}"}, "sk": {"S": "head"}},
        UpdateExpression="SET held = :yes, lease_end = :later",
        ExpressionAttributeValues={":yes": {"BOOL": True}, ":later": {"N": "99999999999"}},
    )
    stage.aws_calls.clear()
    assert stage.deliver_message(message) == {"batchItemFailures": []}
    assert stage.aws_calls["SendMessage"] == 1
    assert stage.write_count == 0
    assert stage.receive_messages() == []  # it is delayed


def test_a_run_hides_its_message_only_as_long_as_its_lease(play: Any) -> None:
    stage = play(ScriptedModel("Done."))
    stage.send("Hi!", wait=False)
    stage.drain_queue()
    assert stage.aws_calls["ChangeMessageVisibility"] == 1


@pytest.mark.usefixtures("no_waiting")
def test_a_task_that_keeps_getting_nowhere_ends_and_says_why(play: Any) -> None:
    model = ScriptedModel(pause(60), "Never said.")
    stage = play(model, reserve_seconds=0.5, max_idle_runs=2)
    task = stage.send("Hi!", wait=False)
    stage.drain_queue(seconds=20)
    ended = stage.get(task["id"])
    assert task_state(ended) == "failed"
    assert "2 runs in a row ended without finishing a step" in status_text(ended)


@pytest.mark.usefixtures("no_waiting")
def test_a_task_has_no_more_runs_than_allowed(play: Any) -> None:
    async def slow(request: ModelRequest) -> ToolCall:
        await asyncio.sleep(9)
        return calls("look_up", city=f"City {len(request.turns)}")

    model = ScriptedModel.from_function(slow)
    stage = play(model, reserve_seconds=0.5, max_runs=3, max_repeats=50)
    task = stage.send("Hi!", wait=False)
    stage.drain_queue(seconds=20)
    ended = stage.get(task["id"])
    assert task_state(ended) == "failed"
    assert "stopped after 3 runs" in status_text(ended)
