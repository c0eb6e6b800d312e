"""A whole agent with litellm: a provider that answers, is busy, is silent, or rejects the key."""

import time
from collections.abc import Iterator
from typing import Any

import pytest

from agentfn.models.providers.litellm_internals import load_litellm
from agentfn.testing import Stage
from conftest import SideEffects, status_text, task_state
from provider_stubs.clients import API_KEY, make_model
from provider_stubs.dialects import Dialect
from provider_stubs.server import StubProvider, calls, fails, hangs, says


@pytest.fixture(scope="module", autouse=True)
def imported() -> None:
    """The import takes seconds: it is paid before anything is timed."""
    load_litellm()


@pytest.fixture
def provider() -> Iterator[StubProvider]:
    with StubProvider() as provider:
        yield provider


@pytest.fixture(params=["openai", "anthropic"])
def stage(request: pytest.FixtureRequest, play: Any, provider: StubProvider) -> Stage:
    dialect: Dialect = request.param
    stage: Stage = play(make_model(dialect, provider))
    return stage


def test_parallel_tool_calls_travel_both_ways(stage: Stage, provider: StubProvider, ledger: SideEffects) -> None:
    both = calls(("a", "look_up", {"city": "Rome"}), ("b", "look_up", {"city": "Oslo"}))
    provider.play(both, says("Rain everywhere.", cached=3))
    task = stage.send("Weather?")
    assert status_text(task) == "Rain everywhere."
    assert sorted(ledger.entries) == ["look_up Oslo", "look_up Rome"]
    seen = str(provider.requests[1].body["messages"])
    assert seen.index("Rain in Rome.") < seen.index("Rain in Oslo.")
    usage = task["metadata"]["agentfn"]["usage"]
    assert usage["prompt"] > 0
    assert usage["completion"] > 0
    assert usage["cached"] == 3


def test_a_busy_provider_is_retried_when_it_says(stage: Stage, provider: StubProvider) -> None:
    provider.play(fails(429, retry_after="1"), says("Here I am."))
    started = time.monotonic()
    assert status_text(stage.send("Hi!")) == "Here I am."
    assert time.monotonic() - started >= 1


def test_a_quota_that_opens_after_this_run_is_waited_for_in_the_queue(stage: Stage, provider: StubProvider) -> None:
    provider.play(fails(429, retry_after="40"), says("Here I am."))
    task = stage.send("Hi!", seconds=10)
    assert task_state(task) == "working"
    assert len(provider.requests) == 1
    assert stage.receive_messages() == []  # delayed by those 40 s


def test_a_silent_provider_costs_the_request_its_time_and_no_more(stage: Stage, provider: StubProvider) -> None:
    provider.play(hangs(), says("Here I am."))
    started = time.monotonic()
    task = stage.send("Hi!", seconds=5)  # of which 2 s are kept back for saving and answering
    assert time.monotonic() - started < 30
    assert task_state(task) == "working"
    assert len(provider.requests) == 1
    stage.drain_queue()
    assert status_text(stage.get(task["id"])) == "Here I am."


def test_a_rejected_key_fails_the_task_with_a_text_without_the_key(stage: Stage, provider: StubProvider) -> None:
    provider.play(fails(401, f"Incorrect API key provided: {API_KEY}"))
    task = stage.send("Hi!")
    assert task_state(task) == "failed"
    assert "AGENT_MODEL_API_KEY" in status_text(task)
    assert API_KEY not in str(task)
    assert len(provider.requests) == 1


def test_a_provider_that_never_recovers_fails_the_task(play: Any, provider: StubProvider) -> None:
    provider.play(fails(503), fails(503))
    task = play(make_model("openai", provider), model_retries=1).send("Hi!")
    assert task_state(task) == "failed"
    assert "not available" in status_text(task)
    assert len(provider.requests) == 2
