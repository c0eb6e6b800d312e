"""The end of tasks that nothing can finish: the queue gives up on their messages, the sweep on them."""

from __future__ import annotations

import json

import pytest
from a2a.types import TaskState

from e2e.a2a_client import said
from e2e.steps_agent import StepsAgent, eventually

pytestmark = pytest.mark.timeout(900)  # the first test builds and deploys

MAX_RECEIVES = 2


def test_every_five_minutes_the_schedule_calls_for_a_sweep(steps: StepsAgent) -> None:
    rule, target = steps.rule(), steps.target()
    assert (rule["State"], rule["ScheduleExpression"]) == ("ENABLED", "rate(5 minutes)")
    assert json.loads(target["Input"]) == {"agentfn": "sweep"}
    policy = steps.account.client("lambda").get_policy(FunctionName=steps.outputs["FunctionName"])["Policy"]
    allowed = [entry for entry in json.loads(policy)["Statement"] if rule["Arn"] in json.dumps(entry["Condition"])]
    assert [entry["Principal"] for entry in allowed] == [{"Service": "events.amazonaws.com"}]
    assert steps.sweep() == {"ended": 0, "resumed": 0}


def test_a_task_whose_every_run_dies_fails_and_its_message_is_kept_as_a_dead_letter(steps: StepsAgent) -> None:
    redrive = json.loads(steps.queue("QueueUrl")["RedrivePolicy"])
    assert int(redrive["maxReceiveCount"]) == MAX_RECEIVES
    task = steps.caller.send("die_again", wait=False)
    eventually(lambda: steps.dead_letters() == 1, 120)
    letter = steps.dead_letter()
    assert json.loads(letter["Body"])["task"] == task.id
    assert letter["Attributes"]["DeadLetterQueueSourceArn"] == steps.queue("QueueUrl")["QueueArn"]
    assert int(letter["Attributes"]["ApproximateReceiveCount"]) >= MAX_RECEIVES
    assert steps.caller.get(task).status.state == TaskState.TASK_STATE_WORKING
    runs = steps.runs(task)
    assert steps.sweep() == {"ended": 1, "resumed": 0}
    task = steps.caller.get(task)
    assert task.status.state == TaskState.TASK_STATE_FAILED
    assert "dead-letter queue" in said(task)
    assert steps.dead_letters() == 1
    assert steps.runs(task) == runs >= MAX_RECEIVES
    assert steps.sweep() == {"ended": 0, "resumed": 0}  # the letter stays, and is of no more consequence
