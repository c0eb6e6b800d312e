"""Crashes while a run suspends its task because time is short."""

import itertools
from collections.abc import Iterator
from typing import Any

import pytest

from agentfn import Agent
from agentfn.testing import ScriptedModel, Stage, pause
from conftest import status_text
from durability.crash_injection import CrashableStage, CrashTiming

CALLS = ["SendMessage", "TransactWriteItems", "TransactWriteItems", "SendMessage"]  # insurance, task; letting go
LETTING_GO = list(itertools.product((2, 3), ("before", "after")))


@pytest.fixture
def model() -> ScriptedModel:
    return ScriptedModel(pause(60), "Done.")


@pytest.fixture
def ward(model: ScriptedModel, no_waiting: None) -> Iterator[CrashableStage]:
    agent = Agent(name="clerk", description="A clerk for tests.")
    with Stage(agent, model, request_seconds=1.2, reserve_seconds=0.5) as stage:
        yield CrashableStage(stage)


def test_these_are_the_calls_of_aws_that_there_are(ward: CrashableStage) -> None:
    assert ward.invoke(ward.send_event("Hi!", wait=True))["statusCode"] == 200
    assert ward.injector.calls == CALLS


@pytest.mark.parametrize(("at", "when"), LETTING_GO)
def test_the_insurance_alone_takes_the_task_up_again(
    ward: CrashableStage, model: ScriptedModel, at: int, when: CrashTiming
) -> None:
    """The continuation was not sent, or is lost."""
    assert ward.invoke(ward.send_event("Hi!", wait=True), at=at, when=when) is None
    model._script[0] = pause(0)
    ward.purge_queue()
    insurance: Any = ward.queue_event(ward.injector.sent[0])
    assert status_text(ward.run_until_done(lambda: ward.invoke(insurance))) == "Done."
