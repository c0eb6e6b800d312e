"""Answers that come while they are made, through the wrapper in the package and a REST API; versions of a function."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from a2a.types import TaskState

from e2e.a2a_client import AgentClient, said
from e2e.deployment import Account
from e2e.steps_agent import PAUSE, StepsAgent

pytestmark = pytest.mark.timeout(900)  # the first test builds and deploys


def test_the_first_event_comes_well_before_the_last(patient_steps: StepsAgent, tell: Callable[[str], None]) -> None:
    assert patient_steps.caller.card().capabilities.streaming
    events = patient_steps.caller.stream("mark mark mark")
    (first, begun), (last, ended) = events[0], events[-1]
    assert begun.task.status.state == TaskState.TASK_STATE_WORKING
    assert ended.status_update.status.state == TaskState.TASK_STATE_COMPLETED
    assert last - first > PAUSE  # it takes four of them
    tell(f"{len(events)} events in {last - first:.1f} s")


def test_an_agent_that_streams_answers_all_else_as_before(patient_steps: StepsAgent) -> None:
    task = patient_steps.caller.send("mark mark")
    assert said(task) == "marked 1\nmarked 2"
    assert patient_steps.caller.get(task).id == task.id
    assert set(patient_steps.sweep()) == {"ended", "resumed"}


def test_a_stream_ends_with_its_invocation_and_the_task_goes_on(steps: StepsAgent) -> None:
    events = steps.caller.stream(" ".join(["mark"] * 8))
    task = events[0][1].task
    assert not any(event.status_update.status.state == TaskState.TASK_STATE_COMPLETED for _, event in events)
    assert steps.caller.wait(task, 120).status.state == TaskState.TASK_STATE_COMPLETED
    assert steps.steps_done(task) == [f"mark-{number}" for number in range(1, 9)]


def test_an_agent_without_streaming_says_so(analyst: AgentClient) -> None:
    assert not analyst.card().capabilities.streaming


def test_events_take_the_version_that_was_published(published_steps: StepsAgent, account: Account) -> None:
    name, functions = published_steps.outputs["FunctionName"], account.client("lambda")
    alias = functions.get_alias(FunctionName=name, Name="live")
    assert alias["FunctionVersion"].isdigit()
    version = functions.get_function_configuration(FunctionName=name, Qualifier="live")
    assert version["SnapStart"]["ApplyOn"] == "PublishedVersions"
    (source,) = functions.list_event_source_mappings(FunctionName=f"{name}:live")["EventSourceMappings"]
    assert source["FunctionArn"] == alias["AliasArn"]
    assert said(published_steps.caller.send("mark mark")) == "marked 1\nmarked 2"
