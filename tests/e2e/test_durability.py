"""Tasks and the ends of invocations: planned ones, forced ones and crashes. Every effect is counted from outside."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest
from a2a.types import Task, TaskState

from e2e.steps import Steps

pytestmark = pytest.mark.timeout(900)  # the first test builds and deploys

COMPLETED = TaskState.TASK_STATE_COMPLETED
CANCELED = TaskState.TASK_STATE_CANCELED
STEPS = 40
TOLD = "outcome_unknown"


def said(task: Task) -> str:
    return "".join(part.text for part in task.status.message.parts)


def eventually(holds: Callable[[], bool], seconds: float) -> None:
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end, f"not within {seconds:.0f} s"
        time.sleep(0.2)


def test_forty_steps_take_eight_invocations_and_more_and_each_effect_happens_once(steps: Steps) -> None:
    task = steps.caller.send("mark " * (STEPS - 1))  # the last step is the answer
    begun = time.monotonic()
    task = steps.caller.wait(task, 240)
    assert task.status.state == COMPLETED, said(task)
    assert steps.did(task) == [f"mark-{number}" for number in range(1, STEPS)]
    assert said(task).splitlines() == [f"marked {number}" for number in range(1, STEPS)]
    assert task.metadata["agentfn"]["steps"] == STEPS
    assert steps.runs(task) >= 8
    print(f"{STEPS} steps: {steps.runs(task)} runs, {time.monotonic() - begun:.1f} s after the request")


def test_a_run_that_its_timeout_killed_within_a_tool_is_gone_on_with(steps: Steps) -> None:
    task = steps.caller.send("mark freeze mark", wait=False)
    task = steps.caller.wait(task, 120)
    assert task.status.state == COMPLETED, said(task)
    first, unknown, last = said(task).splitlines()
    assert (first, last) == ("marked 1", "marked 3")
    assert TOLD in unknown
    assert steps.did(task) == ["mark-1", "freeze-2", "mark-3"]
    assert steps.runs(task) == 2
    _, frozen, resumed = steps.marks(task)
    print(f"killed by the timeout: {resumed.at - frozen.at:.1f} s from the last sign of life to the next step")


def test_a_task_whose_every_run_dies_ends_with_its_message_in_the_dead_letter_queue(steps: Steps) -> None:
    with steps.lease(5):
        task = steps.caller.send("die_again", wait=False)
        eventually(lambda: bool(steps.dead_letters()), 120)
        (letter,) = steps.dead_letters()
        assert task.id in letter["Body"]
        print(letter)
        swept = steps.invoke('{"agentfn": "sweep"}')
        assert swept == {"ended": 1, "resumed": 0}
    task = steps.caller.get(task)
    assert task.status.state == TaskState.TASK_STATE_FAILED
    assert "dead-letter queue" in said(task)
    print(steps.did(task), steps.runs(task), said(task))


def test_cancelled_within_a_long_tool_a_task_stays_so_and_the_tool_goes_no_further(steps: Steps) -> None:
    task = steps.caller.send("linger mark", wait=False)
    eventually(lambda: steps.did(task) == ["linger-1"], 60)
    assert steps.caller.cancel(task).status.state == CANCELED
    runs = steps.runs(task)
    time.sleep(12)  # longer than the tool, than a run, and than a message is hidden
    assert steps.caller.get(task).status.state == CANCELED
    assert steps.did(task) == ["linger-1"]
    assert steps.runs(task) == runs
