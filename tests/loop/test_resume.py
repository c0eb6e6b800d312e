"""Going on where another run stopped: from any point, with any of the results that were saved by then."""

import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from agentfn import Context, tool
from agentfn.loop import LoopResult
from agentfn.loop.transcript import pending_calls
from agentfn.models import ModelRequest, ModelResponse, ToolCall, Turn, Usage
from agentfn.testing import ScriptedModel, calls
from agentfn.testing.scripted_model import ScriptedAnswer
from agentfn.tools import ToolRegistry
from loop.loop_harness import HELLO, LoopHarness, MemoryWorkspace, TracingTools, check_transcript, tool_results

LOOKS = [calls("look", at=place) for place in ("a", "b")]
BOOKS = [calls("book", seat=seat) for seat in (1, 2)]
ODD = [calls("nothing"), ToolCall("", "book", "{"), calls("report_progress", text="p"), calls("finish", text=7)]
ENDS: list[ScriptedAnswer] = [
    "Done.",
    calls("finish", text="Done."),
    (BOOKS[0], calls("ask_user", question="Q?"), LOOKS[0]),
]

STEP = st.lists(st.sampled_from(LOOKS + BOOKS + ODD), min_size=1, max_size=4).map(tuple)
SCRIPT = st.tuples(st.lists(STEP, max_size=5), st.sampled_from(ENDS))


def model_of(script: tuple[list[Any], ScriptedAnswer]) -> ScriptedModel:
    """The line is found by the transcript alone, so that a model in another process would say the same."""
    lines: list[ScriptedAnswer] = [*(ModelResponse("", step, Usage(3, 1)) for step in script[0]), script[1]]

    def answer(prompt: ModelRequest) -> ScriptedAnswer:
        if prompt.tool_choice == "none":
            return "All I have."
        return lines[sum(turn.role == "assistant" for turn in prompt.turns)]

    return ScriptedModel.from_function(answer)


def play(
    script: Any, turns: Sequence[Turn], steps: int, interrupted: bool = False
) -> tuple[LoopResult, Counter[str], int]:
    """The result, what the tools did, and how often the model was asked."""
    shop, model = TracingTools(), model_of(script)
    player = LoopHarness(MemoryWorkspace(Path()), shop)
    result = player.run(model, *turns, interrupted=interrupted, steps=steps, repeats=3)
    return result, Counter(shop.effects), len(model.requests)


def effects(calls_made: Sequence[ToolCall], results: Sequence[Turn]) -> Counter[str]:
    """What those calls did whose results say that they were made."""
    texts = {turn.tool_call_id: turn.text for turn in results}
    done = [texts[call.id].splitlines()[0] for call in calls_made if call.id in texts]
    return Counter(
        text.replace("saw", "look").replace("booked", "book") for text in done if text.startswith(("saw", "booked"))
    )


@st.composite
def stops(draw: st.DrawFn) -> tuple[Any, int, tuple[Turn, ...], LoopResult]:
    """A script, its limit of steps, what was saved of its transcript when a run stopped, and how it ends if none does.

    Only a turn whose tools ran is saved before the loop goes on, and its results in whatever order they came.
    """
    script, steps = draw(SCRIPT), draw(st.integers(1, 6))
    whole, _, _ = play(script, (HELLO,), steps)
    spoken = [place for place, turn in enumerate(whole.transcript) if turn.role == "assistant" and turn.tool_calls]
    if whole.finish_reason in ("finish", "ask_user"):
        spoken.pop()
    if not spoken:
        return script, steps, (HELLO,), whole
    place = draw(st.sampled_from(spoken))
    turn = whole.transcript[place]
    results = whole.transcript[place + 1 : place + 1 + len(turn.tool_calls)]
    kept = draw(st.permutations(results))[: draw(st.integers(0, len(results)))]
    return script, steps, (*whole.transcript[: place + 1], *kept), whole


@settings(max_examples=60)
@given(stops())
def test_from_any_point_on_it_ends_the_same_and_nothing_is_done_twice(stop: Any) -> None:
    script, steps, saved, whole = stop
    result, done, asked = play(script, saved, steps)
    assert result.transcript == whole.transcript
    assert (result.status, result.text, result.finish_reason) == (whole.status, whole.text, whole.finish_reason)
    assert (result.total_steps, result.usage) == (whole.total_steps, whole.usage)
    every = [call for turn in whole.transcript for call in turn.tool_calls]
    results = [turn for turn in whole.transcript if turn.role == "tool"]
    assert done == effects(every, [turn for turn in results if turn not in saved])
    spoken = sum(turn.role == "assistant" for turn in whole.transcript)
    assert asked == spoken - sum(turn.role == "assistant" for turn in saved)


@settings(max_examples=60)
@given(stops())
def test_after_a_death_what_may_have_taken_effect_is_not_done_again(stop: Any) -> None:
    script, steps, saved, whole = stop
    result, done, _ = play(script, saved, steps, interrupted=True)
    assert (result.status, len(result.transcript)) == (whole.status, len(whole.transcript))
    texts, before = _texts(result.transcript), _texts(whole.transcript)
    doubtful = {
        call.id for call in pending_calls(saved) if call.name == "book" and before[call.id].startswith("booked")
    }
    for call_id, text in texts.items():
        if call_id in doubtful:
            assert json.loads(text)["error_type"] == "outcome_unknown"
        elif call_id not in {call.id for call in pending_calls(saved) if call.name == "book"}:
            assert text == before[call_id]
    every = [call for turn in whole.transcript for call in turn.tool_calls]
    assert done == effects(every, [turn for turn in result.transcript if turn.role == "tool" and turn not in saved])


def _texts(turns: Sequence[Turn]) -> dict[str, str]:
    return {turn.tool_call_id: turn.text for turn in turns if turn.role == "tool"}


SPOKEN = Turn("assistant", tool_calls=(ToolCall("a", "book", '{"seat": 1}'), ToolCall("b", "look", '{"at": "x"}')))


def test_a_dead_runs_calls_are_made_again_only_where_that_does_no_harm(player: Any, shop: Any) -> None:
    result = player.run(ScriptedModel(calls("book", seat=2), "Done."), HELLO, SPOKEN, interrupted=True)
    unknown, saw, booked = tool_results(result)
    assert json.loads(unknown)["error_type"] == "outcome_unknown"
    assert (saw, booked) == ("saw x", "booked 2")  # later calls are this run's own
    assert shop.effects == ["look x", "book 2"]


def test_a_run_that_died_while_it_waited_for_the_model_left_nothing_in_doubt(player: Any, shop: Any) -> None:
    saved = (
        HELLO,
        Turn("assistant", tool_calls=SPOKEN.tool_calls[1:]),
        Turn("tool", "saw x", tool_call_id="b", tool_name="look"),
    )
    for turns in (saved, (HELLO,)):
        result = player.run(ScriptedModel(calls("book", seat=1), "Done."), *turns, interrupted=True)
        assert tool_results(result)[-1] == "booked 1"
    assert shop.effects == ["book 1", "book 1"]


def test_a_run_that_let_go_in_time_left_nothing_in_doubt(player: Any, shop: Any) -> None:
    result = player.run(ScriptedModel("Done."), HELLO, SPOKEN)
    assert tool_results(result) == ["booked 1", "saw x"]
    assert sorted(shop.effects) == ["book 1", "look x"]


def test_a_cut_turn_is_remembered_as_such_whatever_was_answered_before(player: Any, shop: Any) -> None:
    """The call that was cut off is the turn's last one, not the last one left."""
    cut = Turn("assistant", tool_calls=(*SPOKEN.tool_calls, ToolCall("c", "look", '{"at": "y"}')), truncated=True)
    refused = Turn("tool", '{"error": "cut", "error_type": "truncated"}', tool_call_id="c", tool_name="look")
    result = player.run(ScriptedModel("Done."), HELLO, cut, refused)
    assert tool_results(result) == ["booked 1", "saw x", refused.text]


def test_an_answered_question_goes_on_with_the_same_transcript(player: Any) -> None:
    asked = player.run(ScriptedModel((calls("ask_user", question="Q?"), calls("look"))))
    result = player.run(ScriptedModel(calls("look", at="z"), "Done."), *asked.transcript, Turn("user", "yes"))
    check_transcript(result.transcript)
    assert (result.text, result.total_steps) == ("Done.", 2)


def test_a_call_has_the_same_key_in_every_run(player: Any) -> None:
    @tool(idempotent=True)
    def key(context: Context) -> str:
        """Tells its key."""
        return context.idempotency_key

    spoken = Turn("assistant", tool_calls=(ToolCall("a", "key", "{}"), ToolCall("b", "key", "{}")))
    keys = [
        tool_results(player.run(ScriptedModel("Done."), HELLO, spoken, tools=ToolRegistry([key]))) for _ in range(2)
    ]
    assert keys == [["task:a", "task:b"]] * 2
