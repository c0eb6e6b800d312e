"""How much of a long transcript the model is shown."""

import asyncio
from typing import Any

import pytest

from agentfn.errors import ContextWindowExceeded
from agentfn.loop import LoopLimits, Notice
from agentfn.loop.agent_loop import AgentLoop
from agentfn.loop.history_window import char_budget, trim_history
from agentfn.models import ModelRequest, ModelResponse, ToolCall, Turn, Usage
from agentfn.testing import ScriptedModel, calls
from loop.loop_harness import check_transcript


def steps(count: int, size: int = 100, start: int = 0) -> list[Turn]:
    """Steps of two calls each, about three times `size` characters long."""
    turns = []
    for number in range(start, start + count):
        made = tuple(ToolCall(f"{side}{number}", "look", "{}") for side in "ab")
        turns.append(Turn("assistant", "x" * size, made))
        turns += [Turn("tool", "y" * size, tool_call_id=call.id, tool_name="look") for call in made]
    return turns


ASKED = Turn("user", "What is it?")


@pytest.mark.parametrize("chars", [1, 500, 1_000, 3_000, 10_000])
@pytest.mark.parametrize(
    "turns",
    [
        [ASKED, *steps(30)],
        [Turn("user", "Before."), *steps(10), Turn("assistant", "So."), ASKED, *steps(10, start=10)],
        [Turn("user", "Before."), *steps(20), Turn("assistant", "So."), ASKED],
        [ASKED],
    ],
)
def test_what_is_left_is_a_whole_transcript_that_begins_with_the_user_and_keeps_what_he_asked_last(
    turns: list[Turn], chars: int
) -> None:
    kept = trim_history(turns, chars)
    check_transcript(kept)
    assert kept[0].role == "user"
    assert any(turn.text.endswith(ASKED.text) for turn in kept if turn.role == "user")
    assert kept[-1] == turns[-1] or kept[-1].text.endswith(turns[-1].text)
    gone = len(turns) - len(kept)
    assert (f"({gone} earlier entries" in kept[0].text) == (gone > 0)


def test_a_transcript_within_its_budget_is_shown_as_it_is() -> None:
    turns = [ASKED, *steps(3)]
    assert trim_history(turns, 10_000) == turns


def test_the_start_of_what_is_shown_stays_the_same_for_many_steps_so_that_caches_hold() -> None:
    starts = [trim_history([ASKED, *steps(count)], 20_000)[1].tool_calls[0].id for count in range(60, 200)]
    assert starts == sorted(starts, key=lambda name: int(name[1:]))
    assert len(set(starts)) <= 12


def test_a_limit_in_tokens_goes_by_what_the_provider_counted() -> None:
    counted = Turn("assistant", "So.", usage=Usage(prompt_tokens=1_000, completion_tokens=5))
    assert char_budget([Turn("user", "z" * 2_000), counted], 100_000, 500) == 1_000
    assert char_budget([ASKED], 100_000, 500) == 1_500
    assert char_budget([ASKED], 100, 500) == 100
    assert char_budget([ASKED], 100_000, None) == 100_000


def test_a_loop_shows_no_more_than_its_limit_and_forgets_nothing(player: Any) -> None:
    model = ScriptedModel(*(calls("give", text="w" * 500) for _ in range(20)), "Done.")
    loop = player.make_loop(model)
    limits = LoopLimits(max_history_chars=4_000, max_repeats=100)
    result = asyncio.run(AgentLoop(model, loop.tools, limits=limits).run([ASKED]))
    assert max(sum(len(turn.text) for turn in prompt.turns) for prompt in model.requests) < 5_000
    assert len(result.transcript) == 42


def test_a_model_for_which_the_transcript_is_too_long_is_asked_again_with_less_of_it(player: Any) -> None:
    def answer(prompt: ModelRequest) -> ModelResponse:
        if sum(len(turn.text) for turn in prompt.turns) > 4_000:
            raise ContextWindowExceeded("the transcript is too long for this model")
        return ModelResponse("Done.")

    model = ScriptedModel.from_function(answer)
    events = player.events_of(model, ASKED, *steps(60))
    assert events[-1].result.text == "Done."
    assert len([event for event in events if isinstance(event, Notice)]) == 2


def test_a_model_for_which_every_transcript_is_too_long_is_asked_no_further(player: Any) -> None:
    model = ScriptedModel.from_function(lambda _: ContextWindowExceeded("the transcript is too long for this model"))
    result = player.run(model, Turn("user", "a" * 3_000))
    assert (result.status, result.finish_reason, len(model.requests)) == ("failed", "model_error", 1)
