"""Tasks and the ends of invocations: planned ones, forced ones and crashes. Every effect is counted from outside."""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Callable

import pytest
from a2a.types import Task, TaskState
from google.protobuf.json_format import MessageToDict

from e2e.a2a_client import said
from e2e.steps_agent import StepsAgent, eventually

pytestmark = pytest.mark.timeout(900)  # the first test builds and deploys

Tell = Callable[[str], None]

COMPLETED = TaskState.TASK_STATE_COMPLETED
CANCELED = TaskState.TASK_STATE_CANCELED
STEPS = 40
RESUMED_WITHIN = 120.0  # seconds; the promise, whatever the function's timeout
UNKNOWN = "outcome_unknown"


@pytest.fixture(scope="module", autouse=True)
def orphan(patient_steps: StepsAgent) -> Task:
    """Its first run dies 15 minutes before its timeout. Sent before the other stories: its lease takes 90 seconds."""
    return patient_steps.caller.send("die mark", wait=False)


def test_forty_steps_take_eight_invocations_or_more_and_each_effect_happens_once(steps: StepsAgent, tell: Tell) -> None:
    begun = time.monotonic()
    task = steps.caller.send("mark " * (STEPS - 1))  # the last step is the answer
    assert task.status.state == TaskState.TASK_STATE_WORKING
    task = steps.caller.wait(task, 240)
    assert task.status.state == COMPLETED, said(task)
    assert MessageToDict(task.metadata)["agentfn"]["steps"] == STEPS
    assert said(task).splitlines() == [f"marked {number}" for number in range(1, STEPS)]
    assert steps.steps_done(task) == [f"mark-{number}" for number in range(1, STEPS)]
    assert steps.runs(task) >= 8
    tell(f"{STEPS} steps in {steps.runs(task)} runs and {time.monotonic() - begun:.0f} s")


def test_a_run_that_the_timeout_killed_within_a_tool_is_gone_on_with(steps: StepsAgent, tell: Tell) -> None:
    task = steps.caller.send("mark freeze mark", wait=False)
    task = steps.caller.wait(task, RESUMED_WITHIN)
    tell(f"killed by its timeout: {resumption(steps, task):.1f} s from the last sign of life to the next step")
    assert steps.steps_done(task) == ["mark-1", "freeze-2", "mark-3"]
    marked, unknown, marked_again = said(task).splitlines()
    assert (marked, marked_again) == ("marked 1", "marked 3")
    assert UNKNOWN in unknown
    assert steps.runs(task) == 2


def test_a_request_that_died_is_gone_on_with_and_sending_it_again_leads_to_the_same_task(steps: StepsAgent) -> None:
    message = {"role": "ROLE_USER", "messageId": str(uuid.uuid4()), "parts": [{"text": "die mark"}]}
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": {"message": message}})
    assert steps.caller.post(body).status_code == 502
    again = steps.caller.post(body)
    assert again.status_code == 200
    task = steps.caller.wait(Task(id=again.json()["result"]["task"]["id"]), 60)
    assert task.status.state == COMPLETED, said(task)
    assert steps.steps_done(task) == ["die-1", "mark-2"]
    assert steps.runs(task) == 2


def test_cancelled_within_a_long_tool_a_task_stays_so_and_the_tool_goes_no_further(steps: StepsAgent) -> None:
    task = steps.caller.send("linger mark", wait=False)
    eventually(lambda: steps.steps_done(task) == ["linger-1"], 60)
    assert steps.caller.cancel(task).status.state == CANCELED
    runs = steps.runs(task)
    time.sleep(12)  # longer than the tool, than a run, and than a message is hidden
    assert steps.caller.get(task).status.state == CANCELED
    assert steps.steps_done(task) == ["linger-1"]
    assert steps.runs(task) == runs


def test_a_run_that_died_is_gone_on_with_long_before_its_timeout(
    patient_steps: StepsAgent, orphan: Task, tell: Tell
) -> None:
    task = patient_steps.caller.wait(orphan, RESUMED_WITHIN)
    waited = resumption(patient_steps, task)
    tell(f"died 15 minutes before its timeout: {waited:.1f} s from the last sign of life to the next step")
    assert waited < RESUMED_WITHIN
    assert patient_steps.steps_done(task) == ["die-1", "mark-2"]
    unknown, marked = said(task).splitlines()
    assert UNKNOWN in unknown
    assert marked == "marked 2"
    assert patient_steps.runs(task) == 2


def resumption(steps: StepsAgent, task: Task) -> float:
    """Seconds between the last two marks of a task that was completed."""
    assert task.status.state == COMPLETED, said(task)
    *_, last, next_one = steps.marks(task)
    return next_one.at - last.at
