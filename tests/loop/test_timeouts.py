"""Retries, and the end of a run's time."""

import asyncio
import json
import time
from typing import Any

import pytest

from agentfn import tool
from agentfn.errors import ModelUnavailable
from agentfn.loop import Notice
from agentfn.models import Model, ModelRequest, ModelResponse, ToolCall, Turn
from agentfn.testing import ScriptedModel, calls, pause
from agentfn.tools import ToolRegistry
from loop.loop_harness import HELLO, tool_results


@pytest.fixture
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """How long the loop would have slept; it does not."""
    slept: list[float] = []
    sleep = asyncio.sleep

    async def note(seconds: float, result: Any = None) -> Any:
        slept.append(seconds)
        return await sleep(0, result)

    monkeypatch.setattr("asyncio.sleep", note)
    return slept


def notices(events: Any) -> list[str]:
    return [event.text for event in events if isinstance(event, Notice)]


def test_a_model_that_is_away_is_asked_again_with_growing_pauses(player: Any, pauses: list[float]) -> None:
    away = [ModelUnavailable("overloaded") for _ in range(4)]
    events = player.events_of(ScriptedModel(*away, "Done."))
    assert events[-1].result.text == "Done."
    assert len(pauses) == 4
    for number, seconds in enumerate(pauses):
        assert 0.75 <= seconds / (0.5 * 2**number) <= 1.25
    assert [text.split(";")[0] for text in notices(events)] == ["overloaded"] * 4


def test_a_provider_that_says_when_to_come_back_is_believed(player: Any, pauses: list[float]) -> None:
    player.events_of(ScriptedModel(ModelUnavailable("limit", 7), ModelUnavailable("limit", -3), "Done."))
    assert 7 <= pauses[0] <= 7.5
    assert 0 <= pauses[1] <= 0.5


def test_retries_have_an_end_and_the_last_word_is_the_reason(player: Any, pauses: list[float]) -> None:
    model = ScriptedModel(*[ModelUnavailable(f"away {n}") for n in range(9)])
    events = player.events_of(model, retries=2)
    result = events[-1].result
    assert (result.status, result.text, result.finish_reason) == ("failed", "away 2", "model_error")
    assert (len(model.requests), len(pauses), len(notices(events))) == (3, 2, 2)


def test_a_pause_that_does_not_fit_is_left_to_the_next_run(player: Any) -> None:
    events = player.events_of(ScriptedModel(ModelUnavailable("limit", 40)), seconds=20)
    result = events[-1].result
    assert (result.status, result.finish_reason) == ("suspended", "out_of_time")
    assert 40 <= result.resume_in_seconds <= 40.5


@pytest.mark.usefixtures("no_waiting")
def test_a_run_that_has_no_time_left_still_says_when_the_provider_wants_to_be_asked(player: Any) -> None:
    async def late(prompt: ModelRequest) -> Any:
        await asyncio.sleep(19.2)
        raise ModelUnavailable("limit", 40)

    result = player.run(ScriptedModel(late), seconds=20)
    assert (result.status, result.resume_in_seconds) == ("suspended", 40)


def test_what_was_remarked_before_a_run_stopped_is_not_lost(player: Any, pauses: list[float]) -> None:
    events = player.events_of(ScriptedModel(ModelUnavailable("limit"), ModelUnavailable("limit", 400)), seconds=100)
    assert notices(events) == [f"limit; asking again in {pauses[0]:.1f} s"]
    assert events[-1].result.status == "suspended"


def test_a_question_that_there_is_no_time_for_is_not_asked(player: Any) -> None:
    model = ScriptedModel("Never said.")
    result = player.run(model, seconds=0.9)
    assert (result.status, result.resume_in_seconds, model.requests) == ("suspended", 0.0, [])
    assert result.transcript == (HELLO,)


@pytest.mark.usefixtures("no_waiting")
def test_a_model_gets_no_more_time_than_is_left(player: Any) -> None:
    started = time.monotonic()
    model = ScriptedModel(pause(30), "Never said.")
    result = player.run(model, seconds=20)
    assert result.status == "suspended"
    assert time.monotonic() - started < 20.5
    assert 19 <= model.requests[0].timeout <= 20


@pytest.mark.usefixtures("no_waiting")
def test_a_door_that_keeps_no_time_is_kept_to_it(player: Any) -> None:
    class Slow(Model):
        name = "slow"

        async def generate(self, prompt: ModelRequest) -> ModelResponse:
            await asyncio.sleep(30)
            return ModelResponse("Never said.")

    started = time.monotonic()
    assert player.run(Slow(), seconds=20).status == "suspended"
    assert time.monotonic() - started < 21


@pytest.mark.usefixtures("no_waiting")
def test_a_call_is_not_started_in_the_last_moments(player: Any, shop: Any) -> None:
    turns = (
        HELLO,
        Turn("assistant", tool_calls=(ToolCall("a", "book", '{"seat": 1}'), ToolCall("b", "look", '{"at": "x"}'))),
    )
    result = player.run(ScriptedModel(), *turns, seconds=2.0)
    assert shop.effects == ["look x"]  # no effect, so a second is enough for it; a booking gets three
    assert (result.status, tool_results(result)) == ("suspended", ["saw x"])
    assert player.run(ScriptedModel(), *turns, seconds=0.5).transcript == turns


def slow_tool(idempotent: bool) -> Any:
    @tool(idempotent=idempotent)
    async def slow() -> str:
        """Takes longer than there is."""
        await asyncio.sleep(30)
        return "late"

    return slow


@pytest.mark.usefixtures("no_waiting")
def test_a_call_that_the_end_of_the_run_cuts_off_is_made_again_only_if_that_does_no_harm(player: Any) -> None:
    model = ScriptedModel(calls("slow"))
    result = player.run(model, seconds=20, tools=ToolRegistry([slow_tool(True)]))
    assert (result.status, tool_results(result)) == ("suspended", [])
    model = ScriptedModel(calls("slow"))
    result = player.run(model, seconds=20, tools=ToolRegistry([slow_tool(False)]))
    assert result.status == "suspended"
    assert json.loads(tool_results(result)[0])["error_type"] == "outcome_unknown"


def test_a_tools_own_limit_is_told_as_such(player: Any) -> None:
    result = player.run(
        ScriptedModel(calls("slow"), "Done."), limits={"timeout_seconds": 0.1}, tools=ToolRegistry([slow_tool(False)])
    )
    assert (result.status, json.loads(tool_results(result)[0])["error_type"]) == ("completed", "timed_out")
