"""What a loop does when steps, time, tokens or money run out."""

import asyncio
import time
from typing import Any

import pytest

from agentfn import Deadline, tool
from agentfn.errors import ModelUnavailable
from agentfn.loop import AgentLoop, LoopEnvironment, LoopLimits, StepStarted
from agentfn.loop.loop_limits import RetryPolicy
from agentfn.models import ModelResponse, ToolCall, Turn, Usage
from agentfn.testing import ScriptedModel, calls, pause
from agentfn.tools import ToolRegistry
from agentfn.tools.execution import ToolLimits
from loop.loop_harness import HELLO, check_transcript, tool_results


def look(number: int, **usage: Any) -> ModelResponse:
    return ModelResponse(
        "", (ToolCall("", "look", f'{{"at": "{number}"}}'),), Usage(**usage), finish_reason="tool_calls"
    )


def run(model: Any, tools: ToolRegistry, limits: LoopLimits, *turns: Turn, **environment: Any) -> Any:
    loop = AgentLoop(model, tools, limits=limits, environment=LoopEnvironment(**environment))
    return asyncio.run(loop.run(turns or [HELLO]))


MET: dict[str, tuple[LoopLimits, dict[str, Any], str]] = {
    "max_steps": (LoopLimits(max_steps=3), {}, "The limit of 3 steps is reached"),
    "max_tokens": (
        LoopLimits(max_total_tokens=3_000),
        {"prompt_tokens": 900, "completion_tokens": 100},
        "The limit of 3,000 tokens is reached",
    ),
    "max_cost": (LoopLimits(max_cost=0.3), {"prompt_tokens": 1, "cost": 0.1}, "The limit of 0.3 US dollars is reached"),
}


@pytest.mark.parametrize("reason", MET)
def test_a_limit_ends_in_one_closing_call_with_the_tools_declared_and_off(shop: Any, reason: str) -> None:
    limits, usage, words = MET[reason]
    model = ScriptedModel(
        *(look(number, **usage) for number in range(3)), ModelResponse("As far as I got: 3.", usage=Usage(**usage))
    )
    result = run(model, shop.tools, limits)
    assert (result.status, result.text, result.finish_reason) == ("completed", "As far as I got: 3.", reason)
    assert result.partial
    assert len(shop.effects) == 3
    assert [prompt.tool_choice for prompt in model.requests] == ["auto"] * 3 + ["none"]
    assert model.requests[-1].tools == model.requests[0].tools != ()
    assert words in model.requests[-1].turns[-1].text
    assert "closing" not in [turn.text for turn in result.transcript]


def test_limits_of_tokens_and_money_count_what_earlier_runs_spent(shop: Any) -> None:
    spent = Turn("assistant", "", (ToolCall("a", "look", "{}"),), usage=Usage(5_000, 10))
    model = ScriptedModel("Done.")
    result = run(
        model,
        shop.tools,
        LoopLimits(max_total_tokens=5_000),
        HELLO,
        spent,
        Turn("tool", "seen", tool_call_id="a", tool_name="look"),
    )
    assert (result.finish_reason, len(model.requests)) == ("max_tokens", 1)


def test_nudges_are_paid_for_too(shop: Any) -> None:
    model = ScriptedModel(ModelResponse("", usage=Usage(600, 0)), look(1, prompt_tokens=600), "Done.")
    assert run(model, shop.tools, LoopLimits(max_total_tokens=1_200)).finish_reason == "max_tokens"


@pytest.mark.usefixtures("no_waiting")
def test_a_loop_that_no_other_run_goes_on_with_answers_before_its_time_is_over(shop: Any) -> None:
    started = time.monotonic()
    model = ScriptedModel(calls("nap", seconds=30, name="long"), "As far as I got: nothing.")
    result = run(model, shop.tools, LoopLimits(), deadline=Deadline.after(20.0))
    assert (result.status, result.finish_reason, result.partial) == ("completed", "out_of_time", True)
    assert time.monotonic() - started < 20.0
    assert "out_of_time" in tool_results(result)[0]
    check_transcript(result.transcript)
    assert "The end of the time is reached" in model.requests[-1].turns[-1].text


@pytest.mark.usefixtures("no_waiting")
def test_a_model_that_does_not_answer_in_the_last_moments_leaves_words_behind(shop: Any) -> None:
    result = run(ScriptedModel(pause(30), "Late."), shop.tools, LoopLimits(), deadline=Deadline.after(20.0))
    assert (result.status, result.finish_reason) == ("failed", "out_of_time")
    assert "time was over" in result.text


def test_retries_have_one_budget_for_the_whole_loop_which_good_calls_refill(player: Any) -> None:
    down = ModelUnavailable("down", retry_after=0.0)
    spell: list[Any] = [down, down, calls("look"), down, down, calls("look", at="y"), down, "Done."]
    result = player.run(ScriptedModel(*spell), retries=4)
    assert (result.status, result.text) == ("failed", "down")
    better: list[Any] = [
        down,
        down,
        calls("look"),
        calls("look", at="y"),
        down,
        down,
        calls("look", at="z"),
        down,
        "Done.",
    ]
    assert player.run(ScriptedModel(*better), retries=4).text == "Done."


def test_no_retry_is_made_where_none_is_allowed() -> None:
    model = ScriptedModel(ModelUnavailable("down"), "Done.")
    result = run(model, ToolRegistry(), LoopLimits(retry_policy=RetryPolicy(max_retries=0)))
    assert (result.status, len(model.requests)) == ("failed", 1)


def test_an_output_over_the_limit_can_be_read_on_in(shop: Any) -> None:
    long = "".join(f"{number:06d} " for number in range(100))
    model = ScriptedModel(calls("give", text=long), calls("read_more", file="output-call_1_1.txt", offset=200), "Done.")
    result = run(model, shop.tools, LoopLimits(tools=ToolLimits(max_output_chars=200)))
    assert ["read_more" in str(prompt.tools) for prompt in model.requests] == [False, True, True]
    assert "read_more goes on with from offset 200" in tool_results(result)[0]
    assert long[200:220] in tool_results(result)[1]


def test_an_event_says_in_a_line_what_a_tool_found(player: Any) -> None:
    from agentfn import Output

    @tool
    def find() -> Output:
        """Finds."""
        return Output("a\nb\nc", summary="3 matches")

    events = player.events_of(ScriptedModel(calls("find"), "Done."), tools=ToolRegistry([find]))
    (finished,) = [event for event in events if event.kind == "tools_finished"]
    assert finished.results[0].summary == finished.to_json()["results"][0]["summary"] == "3 matches"


def test_a_transcript_that_ends_in_an_answer_is_not_asked_about_again(player: Any) -> None:
    for ending in (
        "Done.",
        calls("finish", text="Done."),
        calls("ask_user", question="Done."),
        calls("reject_task", reason="Done."),
    ):
        first = player.run(ScriptedModel(ending))
        events = player.events_of(ScriptedModel(), *first.transcript)
        again = events[-1].result
        assert [(event.kind) for event in events] == ["final"]
        assert (again.status, again.text, again.finish_reason) == (first.status, first.text, first.finish_reason)


def test_a_step_that_is_over_the_limit_is_still_told(player: Any) -> None:
    events = player.events_of(ScriptedModel(calls("look"), "Done."), steps=1)
    assert [event.step for event in events if isinstance(event, StepStarted)] == [1, 2]
