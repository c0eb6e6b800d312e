"""Tools for a model that answers in plain text: one JSON object for each action."""

import json
from typing import Any

import pytest

from agentfn.loop import Notice
from agentfn.loop.tool_protocols.json_extraction import find_json_objects
from agentfn.models import ModelResponse, ToolCall, Turn
from agentfn.testing import ScriptedModel, calls
from loop.loop_harness import HELLO, tool_results


def act(tool: str, thought: str = "So.", **args: Any) -> str:
    return json.dumps({"thought": thought, "tool": tool, "args": args})


ANSWER = act("final_answer", text="Done.")

WRAPPED = {
    "bare": '{"thought": "t", "tool": "look", "args": {"at": "x"}}',
    "fence": 'Sure!\n```json\n{"thought": "t", "tool": "look", "args": {"at": "x"}}\n```\nThat is my action.',
    "prose in English": 'I will look. {"thought": "t", "tool": "look", "args": {"at": "x"}} Then we shall see.',
    "prose in German": 'Ich sehe „nach“: {"thought": "t", "tool": "look", "args": {"at": "x"}} und dann weiter.',
    "prose in Japanese": '確認します。{"thought": "t", "tool": "look", "args": {"at": "x"}}以上です。',
    "braces in prose": 'Sets {a, b} first. {"thought": "t", "tool": "look", "args": {"at": "x"}}',
    "trailing comma": '{"thought": "t", "tool": "look", "args": {"at": "x",},}',
    "line break in a string": '{"thought": "a\nb", "tool": "look", "args": {"at": "x"}}',
    "another object first": '{"note": 1} {"thought": "t", "tool": "look", "args": {"at": "x"}}',
    "two actions": '{"tool": "look", "args": {"at": "x"}}\nObservation: fine\n{"tool": "book", "args": {"seat": 1}}',
    "other names": '{"thought": "t", "action": "look", "action_input": {"at": "x"}}',
    "named like a function": '{"name": "look", "arguments": {"at": "x"}}',
    "arguments in a string": '{"tool": "look", "args": "{\\"at\\": \\"x\\"}"}',
    "unfinished object before": '{"tool": "book", "args": {"seat": ... I mean {"tool": "look", "args": {"at": "x"}}',
}


@pytest.mark.parametrize("text", WRAPPED.values(), ids=WRAPPED.keys())
def test_an_action_is_found_in_whatever_a_model_writes_around_it(player: Any, shop: Any, text: str) -> None:
    result = player.run(ScriptedModel(text, ANSWER), tool_protocol="json")
    assert (shop.effects, result.text, result.total_steps) == (["look x"], "Done.", 2)


def test_braces_and_commas_within_strings_are_left_alone(player: Any) -> None:
    text = 'a {"b": [1,]} , } ] "quoted" {{'
    for written in (act("give", text=text), act("give", text=text)[:-1] + ",}"):
        assert tool_results(player.run(ScriptedModel(written, ANSWER), tool_protocol="json")) == [text]


def test_nothing_is_guessed_where_a_text_is_broken_beyond_a_comma() -> None:
    for text in (
        "{'tool': 'look'}",
        '{"tool": "look"',
        '{"tool" "look"}',
        '{"a": 1,, "b": 2}',
        "[" * 100_000,
        "{" * 5_000,
    ):
        assert list(find_json_objects(text)) == []


def test_a_reply_without_an_action_is_nudged_and_then_taken_for_the_answer(player: Any) -> None:
    model = ScriptedModel("Let me think.", "It is Paris.", "It is Paris!")
    events = player.events_of(model, tool_protocol="json")
    result = events[-1].result
    assert (result.status, result.text, result.total_steps) == ("completed", "It is Paris!", 1)
    assert len([event for event in events if isinstance(event, Notice)]) == 2
    assert [turn.role for turn in model.requests[-1].turns] == ["user", "assistant", "user", "assistant", "user"]
    assert [turn.role for turn in result.transcript] == ["user", "assistant"]


def test_a_reply_that_was_cut_off_is_not_run_and_the_model_is_told_why(player: Any, shop: Any) -> None:
    model = ScriptedModel(ModelResponse('{"tool": "book", "args": {"seat": 1', finish_reason="length"), ANSWER)
    assert player.run(model, tool_protocol="json").text == "Done."
    assert shop.effects == []
    assert "cut off at the output limit" in model.requests[1].turns[-1].text


def test_the_same_action_twice_in_a_row_is_not_run_again(player: Any, shop: Any) -> None:
    again = act("look", at="x")
    result = player.run(ScriptedModel(again, again, act("look", at="y"), again, ANSWER), tool_protocol="json")
    assert shop.effects == ["look x", "look y", "look x"]
    assert [json.loads(text)["error_type"] for text in tool_results(result) if text.startswith("{")] == ["repeated"]


FINALS: dict[str, Any] = {
    "text": {"text": "Paris"},
    "answer": {"answer": "Paris"},
    "a bare string": "Paris",
}


@pytest.mark.parametrize("args", FINALS.values(), ids=FINALS.keys())
def test_a_final_answer_ends_the_loop(player: Any, args: Any) -> None:
    result = player.run(ScriptedModel(json.dumps({"tool": "final_answer", "args": args})), tool_protocol="json")
    assert (result.status, result.text) == ("completed", "Paris")


def test_a_final_answer_chooses_among_the_files(player: Any) -> None:
    model = ScriptedModel(
        act("draw", name="a.svg"), act("draw", name="b.svg"), act("final_answer", text="X", files=["b.svg"])
    )
    result = player.run(model, tool_protocol="json")
    assert (result.text, [info.name for info in result.files]) == ("X", ["b.svg"])


def test_an_empty_final_answer_is_asked_for_again(player: Any) -> None:
    model = ScriptedModel(act("final_answer"), ANSWER)
    assert player.run(model, tool_protocol="json").text == "Done."
    assert "final answer is empty" in model.requests[1].turns[-1].text


def test_a_structured_final_answer_is_given_as_json(player: Any) -> None:
    result = player.run(ScriptedModel(act("final_answer", city="Paris", people=2)), tool_protocol="json")
    assert json.loads(result.text) == {"city": "Paris", "people": 2}


CLOSINGS = {
    "plain": ("As far as I got: Paris.", "As far as I got: Paris."),
    "final answer": (act("final_answer", text="Paris"), "Paris"),
    "stray answer": ('```json\n{"thought": "hm", "answer": "Paris"}\n```', "Paris"),
    "own json": ('{"city": "Paris", "answer": "yes"}', '{"city": "Paris", "answer": "yes"}'),
}


@pytest.mark.parametrize(("reply", "text"), CLOSINGS.values(), ids=CLOSINGS.keys())
def test_a_closing_reply_may_be_plain_or_an_action(player: Any, reply: str, text: str) -> None:
    model = ScriptedModel(act("look", at="x"), reply)
    result = player.run(model, tool_protocol="json", steps=1)
    assert (result.text, result.finish_reason, result.partial) == (text, "max_steps", True)
    assert "The limit of 1 steps is reached" in model.requests[-1].turns[-1].text


def test_a_closing_reply_that_calls_a_tool_is_nudged_and_then_its_thought_is_the_answer(player: Any, shop: Any) -> None:
    model = ScriptedModel(act("look", at="x"), *[act("book", "It is Paris, I think.", seat=1)] * 3)
    result = player.run(model, tool_protocol="json", steps=1)
    assert (result.text, shop.effects) == ("It is Paris, I think.", ["look x"])


def test_a_model_is_told_of_its_tools_in_words_and_speaks_in_turns_with_the_user(player: Any) -> None:
    model = ScriptedModel(act("look", "First this.", at="x"), ANSWER)
    player.run(model, HELLO, Turn("user", "And hurry."), tool_protocol="json", force_first_tool=True)
    first, second = model.requests
    assert first.tools == second.tools == ()
    for name in ("look", "book", "final_answer", "ask_user"):
        assert f"- {name}: " in first.system
    assert "- finish" not in first.system
    assert first.system.startswith("Be brief.")
    assert [(turn.role, turn.tool_calls) for turn in second.turns] == [("user", ()), ("assistant", ()), ("user", ())]
    assert json.loads(second.turns[1].text) == {"thought": "First this.", "tool": "look", "args": {"at": "x"}}
    assert second.turns[2].text == "Result of look:\nsaw x"
    assert first.schema is not None
    assert set(first.schema["properties"]["tool"]["enum"]) >= {"look", "final_answer"}


def test_a_first_tool_can_be_asked_for_in_words(player: Any) -> None:
    model = ScriptedModel(act("look"), ANSWER)
    player.run(model, tool_protocol="json", force_first_tool=True)
    assert ["Begin with a tool" in prompt.system for prompt in model.requests] == [True, False]


def test_a_task_may_change_from_one_protocol_to_the_other(player: Any, shop: Any) -> None:
    begun = player.run(ScriptedModel(calls("look", at="x"), calls("ask_user", question="Q?"))).transcript
    model = ScriptedModel(act("look", at="y"), act("ask_user", question="And?"))
    gone_on = player.run(model, *begun, Turn("user", "Go on."), tool_protocol="json").transcript
    result = player.run(ScriptedModel("Done."), *gone_on, Turn("user", "Well?"))
    assert (result.text, shop.effects) == ("Done.", ["look x", "look y"])


def test_lifecycle_tools_work_as_actions(player: Any) -> None:
    model = ScriptedModel(act("report_progress", text="half"), act("reject_task", reason="Not mine."))
    result = player.run(model, tool_protocol="json")
    assert (result.status, result.text, result.progress) == ("rejected", "Not mine.", ("half",))


class Modest(ScriptedModel):
    def __init__(self, *script: Any, able: bool) -> None:
        super().__init__(*script)
        self.able = able

    async def supports_tool_calls(self) -> bool:
        return self.able


def test_the_protocol_follows_what_the_door_knows_of_its_model_unless_it_is_chosen(player: Any) -> None:
    for able, protocol, in_words in [(True, "auto", False), (False, "auto", True), (False, "native", False)]:
        model = Modest(ModelResponse(tool_calls=(ToolCall("", "look", "{}"),)), ANSWER, able=able)
        player.run(model, tool_protocol=protocol)
        assert (model.requests[0].tools == ()) is in_words
