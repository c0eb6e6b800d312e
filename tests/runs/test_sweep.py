"""The backstop: whatever became of the messages, no task is left behind."""

import json
from typing import Any

from agentfn.aws_clients import aws_client
from agentfn.testing import ScriptedModel, Stage, calls
from conftest import SideEffects, status_text, task_state


def lose_messages(stage: Stage) -> None:
    aws_client("sqs").purge_queue(QueueUrl=stage.resources.queue_url)


def set_lease(stage: Stage, task_id: str, *, held: bool, end: float) -> None:
    """As a run leaves it that died at that time, or a send that never got to its queue."""
    aws_client("dynamodb").update_item(
        TableName=stage.resources.table,
        Key={"pk": {"S": f"clerk#alice#{task_id}"}, "sk": {"S": "head"}},
        UpdateExpression="SET held = :held, lease_end = :end",
        ExpressionAttributeValues={":held": {"BOOL": held}, ":end": {"N": str(end)}},
    )


def test_a_submitted_task_whose_message_was_lost_is_run_after_all(play: Any) -> None:
    stage = play(ScriptedModel("Here I am."))
    task = stage.send("Hi!", wait=False)
    lose_messages(stage)
    set_lease(stage, task["id"], held=False, end=1000)
    assert stage.sweep() == {"ended": 0, "resumed": 1}
    stage.drain_queue()
    assert status_text(stage.get(task["id"])) == "Here I am."


def test_a_task_whose_run_died_and_whose_message_was_lost_goes_on(play: Any, ledger: SideEffects) -> None:
    stage = play(ScriptedModel("Here I am."))
    task = stage.send("Hi!", wait=False)
    lose_messages(stage)
    set_lease(stage, task["id"], held=True, end=1000)
    assert stage.sweep()["resumed"] == 1
    stage.drain_queue()
    assert task_state(stage.get(task["id"])) == "completed"


def test_a_task_that_is_in_hand_or_done_or_waits_is_left_alone(play: Any) -> None:
    stage = play(ScriptedModel("Done.", calls("ask_user", question="Which?")))
    stage.send("Hi!")
    stage.send("Hm?")
    in_hand = stage.send("Hi!", wait=False)
    set_lease(stage, in_hand["id"], held=True, end=99999999999)
    lose_messages(stage)
    assert stage.sweep() == {"ended": 0, "resumed": 0}


def test_a_task_that_stands_in_line_is_asked_for_once_and_not_at_every_sweep(play: Any) -> None:
    stage = play(ScriptedModel("Here I am."))
    task = stage.send("Hi!", wait=False)
    set_lease(stage, task["id"], held=False, end=1000)
    assert [stage.sweep()["resumed"] for _ in range(3)] == [1, 0, 0]


def test_the_task_of_a_dead_letter_ends_and_says_why_and_the_letter_stays(play: Any) -> None:
    stage = play(ScriptedModel("Never said."))
    task = stage.send("Hi!", wait=False)
    [message] = stage.receive_messages()
    dead = stage.resources.dead_letters_url
    aws_client("sqs").send_message(QueueUrl=dead, MessageBody=message["Body"])
    aws_client("sqs").send_message(QueueUrl=dead, MessageBody="not ours")
    assert stage.sweep() == {"ended": 1, "resumed": 0}
    ended = stage.get(task["id"])
    assert task_state(ended) == "failed"
    assert "dead-letter queue" in status_text(ended)
    attributes = aws_client("sqs").get_queue_attributes(QueueUrl=dead, AttributeNames=["All"])["Attributes"]
    assert int(attributes["ApproximateNumberOfMessagesNotVisible"]) == 2
    assert stage.deliver_message(message) == {"batchItemFailures": []}  # too late, and harmless


def test_a_webhook_s_message_among_the_dead_letters_ends_no_task(play: Any) -> None:
    stage = play(ScriptedModel("Done."))
    task = stage.send("Go!", wait=False)
    message = stage.receive_messages()[0]
    body = json.dumps({**json.loads(message["Body"]), "push": ""})
    aws_client("sqs").send_message(QueueUrl=stage.resources.dead_letters_url, MessageBody=body)
    stage.sweep()
    assert task_state(stage.get(task["id"])) == "submitted"
    stage.deliver_message(message)
    assert status_text(stage.get(task["id"])) == "Done."


def test_a_poisoned_message_ends_in_the_dead_letters(play: Any) -> None:
    """A table that cannot be written to: the handler gives the message back each time."""
    stage = play(ScriptedModel("Never said."))
    stage.send("Hi!", wait=False)
    [message] = stage.receive_messages()
    name = stage.resources.table
    aws_client("dynamodb").delete_table(TableName=name)
    stage.aws_calls.clear()
    answer = stage.deliver_message(message)
    assert answer == {"batchItemFailures": [{"itemIdentifier": message["MessageId"]}]}
    assert stage.aws_calls["ChangeMessageVisibility"] == 1  # back in half a minute, not after the function's timeout
    policy = aws_client("sqs").get_queue_attributes(
        QueueUrl=stage.resources.queue_url, AttributeNames=["RedrivePolicy"]
    )
    assert json.loads(policy["Attributes"]["RedrivePolicy"])["maxReceiveCount"] == 5


def test_a_sweep_without_time_leaves_the_rest_to_the_next(play: Any) -> None:
    stage = play(ScriptedModel("Here I am."))
    task = stage.send("Hi!", wait=False)
    set_lease(stage, task["id"], held=False, end=1000)
    assert stage.sweep(seconds=1) == {"ended": 0, "resumed": 0}
    assert stage.sweep() == {"ended": 0, "resumed": 1}


def test_a_transcript_of_a_later_agentfn_is_left_for_it(play: Any) -> None:
    stage = play(ScriptedModel("Never said."))
    task = stage.send("Hi!", wait=False)
    [message] = stage.receive_messages()
    aws_client("dynamodb").update_item(
        TableName=stage.resources.table,
        Key={"pk": {"S": f"clerk#alice#{task['id']}"}, "sk": {"S": "head"}},
        UpdateExpression="SET #schema = :later",
        ExpressionAttributeNames={"#schema": "schema"},
        ExpressionAttributeValues={":later": {"N": "99"}},
    )
    assert stage.deliver_message(message)["batchItemFailures"]
    set_lease(stage, task["id"], held=False, end=1000)
    assert stage.sweep() == {"ended": 0, "resumed": 0}
