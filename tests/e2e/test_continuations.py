"""Tasks that outlive an invocation: each run of the slow analyst ends long before its work does."""

from __future__ import annotations

import time

import pytest
from a2a.types import Part, TaskState

from e2e.a2a_client import AgentClient
from e2e.conftest import QUESTION
from e2e.deployment import Account

pytestmark = pytest.mark.timeout(900)  # the first test builds and deploys

WORKING = TaskState.TASK_STATE_WORKING


def test_a_task_goes_on_through_as_many_invocations_as_it_needs(
    slow_analyst: AgentClient, account: Account, penguins: Part
) -> None:
    begun = time.monotonic()
    task = slow_analyst.send(QUESTION, penguins)
    assert task.status.state == WORKING
    assert time.monotonic() - begun < 20  # it answered when its own time was up, not the function's
    task = slow_analyst.wait(task, 180)
    assert task.status.state == TaskState.TASK_STATE_COMPLETED
    assert {part.filename for artifact in task.artifacts for part in artifact.parts} >= {"report.md", "report.html"}
    assert account.runs("agentfn-storage", task.id) >= 3


def test_a_running_task_can_be_cancelled_and_stays_so(
    slow_analyst: AgentClient, account: Account, penguins: Part
) -> None:
    task = slow_analyst.send(QUESTION, penguins, wait=False)
    task = slow_analyst.wait(task, 60, lambda task: task.status.state == WORKING)
    assert slow_analyst.cancel(task).status.state == TaskState.TASK_STATE_CANCELED
    runs = account.runs("agentfn-storage", task.id)
    time.sleep(15)  # longer than a run may take: what was under way has ended, what was queued has come
    assert slow_analyst.get(task).status.state == TaskState.TASK_STATE_CANCELED
    assert account.runs("agentfn-storage", task.id) == runs
