"""Calls that need the user's word before they are run."""

import json
from typing import Any

import pytest

from agentfn import Context, tool
from agentfn.loop.tool_calls.approval import parse_decision
from agentfn.models import ModelResponse, ToolCall, Turn
from agentfn.testing import ScriptedModel, calls
from agentfn.tools import ToolRegistry
from loop.loop_harness import HELLO, check_transcript, tool_results


class Till:
    """A tool that pays, and one that looks."""

    def __init__(self) -> None:
        self.done: list[str] = []
        self.tools = ToolRegistry([self._pay(), self._look()])

    def _pay(self) -> Any:
        @tool(requires_approval=True)
        def pay(amount: int, context: Context, to: str = "Ann") -> str:
            """Pays."""
            self.done.append(f"pay {amount} to {to}")
            return f"paid, receipt {context.call_id}"

        return pay

    def _look(self) -> Any:
        @tool(idempotent=True)
        def look() -> str:
            """Looks."""
            self.done.append("look")
            return "seen"

        return look


@pytest.fixture
def till() -> Till:
    return Till()


def say(text: str) -> Turn:
    return Turn("user", text)


def test_a_call_that_needs_approval_is_shown_and_waits(player: Any, till: Till) -> None:
    result = player.run(ScriptedModel(calls("pay", amount=5)), tools=till.tools)
    assert (result.status, result.finish_reason, till.done) == ("input_required", "approval", [])
    assert result.call == ToolCall("call_1_1", "pay", '{"amount": 5}')
    assert "`pay`" in result.text
    assert '"amount": 5' in result.text


ANSWERS: dict[str, tuple[str, list[str], str]] = {
    "yes": ("Yes, please.", ["pay 5 to Ann"], "(The user approved this call.)"),
    "yes in French": ("oui", ["pay 5 to Ann"], "(The user approved this call.)"),
    "yes as data": ('{"approved": true}', ["pay 5 to Ann"], "(The user approved this call.)"),
    "no": ("No.", [], "They said: No."),
    "no as data": ('{"approved": false, "reason": "too much"}', [], "They said: too much"),
    "why": ("Why should I?", [], "They said: Why should I?"),
    "a question of yes-words": ("You do that ok?", [], "They said: You do that ok?"),
    "yes but": ("Yes, but only 3.", [], "They said: Yes, but only 3."),
    "other arguments": ('{"amount": 3, "to": "Bob"}', ["pay 3 to Bob"], "with other arguments"),
    "other arguments as data": ('{"approved": true, "arguments": {"amount": 3}}', ["pay 3 to Ann"], '{"amount": 3}'),
    "arguments that do not fit": ('{"amount": "much"}', [], "invalid_arguments"),
}


@pytest.mark.parametrize(("answer", "done", "words"), ANSWERS.values(), ids=ANSWERS.keys())
def test_the_answer_runs_the_call_changes_it_or_declines_it(
    player: Any, till: Till, answer: str, done: list[str], words: str
) -> None:
    waiting = player.run(ScriptedModel(calls("pay", amount=5)), tools=till.tools)
    model = ScriptedModel("Done.")
    result = player.run(model, *waiting.transcript, say(answer), tools=till.tools)
    assert (result.text, till.done) == ("Done.", done)
    (paid,) = tool_results(result)
    assert words in paid
    check_transcript(model.requests[0].turns)
    assert [turn.role for turn in model.requests[0].turns] == ["user", "assistant", "tool"]


def test_other_calls_of_the_turn_are_run_before_the_user_is_asked(player: Any, till: Till) -> None:
    waiting = player.run(ScriptedModel((calls("pay", amount=5), calls("look"))), tools=till.tools)
    assert (waiting.status, till.done) == ("input_required", ["look"])
    result = player.run(ScriptedModel("Done."), *waiting.transcript, say("ok"), tools=till.tools)
    assert till.done == ["look", "pay 5 to Ann"]
    assert [text.split(",")[0].split("\n")[0] for text in tool_results(result)] == ["paid", "seen"]


def test_several_calls_are_asked_for_one_after_the_other(player: Any, till: Till) -> None:
    model = ScriptedModel((calls("pay", amount=1), calls("pay", amount=2), calls("pay", amount=3)), "Done.")
    result = player.run(model, tools=till.tools)
    for answer in ("yes", "no", "yes"):
        assert result.status == "input_required"
        result = player.run(model, *result.transcript, say(answer), tools=till.tools)
    assert (result.text, till.done) == ("Done.", ["pay 1 to Ann", "pay 3 to Ann"])
    assert [json.loads(text)["error_type"] for text in tool_results(result) if text.startswith("{")] == ["declined"]


def test_a_transcript_comes_out_the_same_in_whichever_order_it_was_saved(player: Any, till: Till) -> None:
    """In the table the user's word stands before the result of the call that it was about."""
    spoken = Turn("assistant", "", (ToolCall("a", "pay", '{"amount": 1}'), ToolCall("b", "look", "{}")))
    looked, paid = (
        Turn("tool", "seen", tool_call_id="b", tool_name="look"),
        Turn("tool", "paid", tool_call_id="a", tool_name="pay"),
    )
    model = ScriptedModel("Done.")
    player.run(model, HELLO, spoken, looked, say("yes"), paid, tools=till.tools)
    assert [turn.tool_call_id for turn in model.requests[0].turns] == ["", "", "a", "b"]
    assert till.done == []


def test_the_user_is_not_asked_about_a_call_that_could_not_be_run(player: Any, till: Till) -> None:
    cut = ModelResponse(tool_calls=(ToolCall("", "pay", '{"amount": 1}'),), finish_reason="length")
    model = ScriptedModel(calls("pay", amount="much"), cut, "Done.")
    result = player.run(model, tools=till.tools)
    assert (result.text, till.done) == ("Done.", [])
    assert [json.loads(text)["error_type"] for text in tool_results(result)] == ["invalid_arguments", "truncated"]


def test_a_call_that_was_approved_in_a_run_that_died_is_not_run_again(player: Any, till: Till) -> None:
    waiting = player.run(ScriptedModel(calls("pay", amount=5)), tools=till.tools)
    result = player.run(ScriptedModel("Done."), *waiting.transcript, say("yes"), tools=till.tools, interrupted=True)
    assert till.done == []
    assert "outcome_unknown" in tool_results(result)[0]


def test_a_run_that_died_before_the_user_was_asked_asks_him(player: Any, till: Till) -> None:
    spoken = Turn("assistant", "", (ToolCall("a", "pay", '{"amount": 1}'),))
    assert player.run(ScriptedModel(), HELLO, spoken, tools=till.tools, interrupted=True).finish_reason == "approval"


def test_approval_works_for_actions_too(player: Any, till: Till) -> None:
    act = json.dumps({"tool": "pay", "args": {"amount": 5}})
    waiting = player.run(ScriptedModel(act), tools=till.tools, tool_protocol="json")
    model = ScriptedModel(json.dumps({"tool": "final_answer", "args": "Done."}))
    result = player.run(model, *waiting.transcript, say("yes"), tools=till.tools, tool_protocol="json")
    assert (result.text, till.done) == ("Done.", ["pay 5 to Ann"])
    assert "Result of pay:\npaid" in model.requests[0].turns[-1].text


@pytest.mark.parametrize(
    "text", ["", "   ", "nope", "please", "it", "[]", "5", "null", "{}", '{"reason": "x"}', "false"]
)
def test_only_a_clear_yes_is_one(text: str) -> None:
    assert not parse_decision(text).approved
