"""What a provider sees of a prompt."""

import asyncio
from typing import Any

import pytest

from agentfn.models import Call, Prompt, Sampling, Turn
from stubs.dialects import Dialect
from stubs.doors import KEY, LOOK, Ask, hello, replayed, speaking
from stubs.providers import Provider, fails, says

TWO = (Call("c1", "look", '{"at": "a"}'), Call("c2", "look", '{"at": "b"}'))


@pytest.fixture
def told(provider: Provider, loop: asyncio.AbstractEventLoop) -> Any:
    """Asks in a dialect and gives the body that the provider saw."""

    def told(dialect: Dialect, prompt: Prompt) -> dict[str, Any]:
        provider.plays(says("Yes."))
        loop.run_until_complete(speaking(dialect, provider).ask(prompt))
        return provider.requests[-1].body

    return told


def test_the_key_and_the_model_reach_the_provider_at_its_own_address(
    provider: Provider, ask: Ask, dialect: Dialect
) -> None:
    provider.plays(says("Yes."))
    ask(hello())

    seen = provider.requests[0]

    if dialect == "openai":
        assert (seen.path, seen.headers["authorization"]) == ("/v1/chat/completions", f"Bearer {KEY}")
    else:
        assert (seen.path, seen.headers["x-api-key"]) == ("/v1/messages", KEY)
    assert "/" not in seen.body["model"]


def test_openai_gets_all_results_right_after_their_calls(told: Any) -> None:
    messages = told("openai", replayed(*TWO, after=(Turn("user", "And?"),)))["messages"]

    assert [message["role"] for message in messages] == ["system", "user", "assistant", "tool", "tool", "user"]
    assert [call["id"] for call in messages[2]["tool_calls"]] == ["c1", "c2"]
    assert [message["tool_call_id"] for message in messages[3:5]] == ["c1", "c2"]
    assert not messages[2].get("content")


def test_anthropic_gets_all_results_in_one_turn_before_what_the_user_said_next(told: Any) -> None:
    body = told("anthropic", replayed(*TWO, after=(Turn("user", "And?"),)))
    asked, answered = body["messages"][1:]

    assert [block["id"] for block in asked["content"]] == ["c1", "c2"]
    assert [block["input"] for block in asked["content"]] == [{"at": "a"}, {"at": "b"}]
    assert [block["type"] for block in answered["content"]] == ["tool_result", "tool_result", "text"]
    assert [block["tool_use_id"] for block in answered["content"][:2]] == ["c1", "c2"]


@pytest.mark.parametrize(("dialect", "none"), [("openai", "none"), ("anthropic", {"type": "none"})])
def test_tools_stay_declared_on_the_final_turn_that_may_not_use_them(dialect: Dialect, none: object, told: Any) -> None:
    body = told(dialect, replayed(*TWO, tool_choice="none"))

    assert len(body["tools"]) == 1
    assert body["tool_choice"] == none


@pytest.mark.parametrize(("dialect", "required"), [("openai", "required"), ("anthropic", {"type": "any"})])
def test_a_forced_tool_call_is_said_in_the_dialect(dialect: Dialect, required: object, told: Any) -> None:
    assert told(dialect, hello(tools=(LOOK,), tool_choice="required"))["tool_choice"] == required


def test_the_free_choice_is_not_mentioned_and_no_tools_are_no_options(told: Any, dialect: Dialect) -> None:
    assert "tool_choice" not in told(dialect, hello(tools=(LOOK,)))

    bare = told(dialect, hello(tool_choice="none"))

    assert not {"tools", "tool_choice"} & set(bare)


@pytest.mark.parametrize("raw", ["", " ", "null", '{"at": "Par', "[1]", '"x"', "7"])
def test_arguments_that_are_no_object_are_replayed_as_an_empty_one(raw: str, told: Any) -> None:
    prompt = replayed(Call("c1", "look", raw))

    assert told("openai", prompt)["messages"][2]["tool_calls"][0]["function"]["arguments"] == "{}"
    assert told("anthropic", prompt)["messages"][1]["content"][0]["input"] == {}


def test_a_name_that_the_model_made_up_is_replayed_in_a_form_providers_take(told: Any) -> None:
    prompt = replayed(Call("c1", "look at, please!", "{}"))

    name = told("openai", prompt)["messages"][2]["tool_calls"][0]["function"]["name"]

    assert name == "look_at__please_"


def test_nothing_blank_is_sent(told: Any, dialect: Dialect) -> None:
    """Bedrock and Anthropic refuse blank text; an assistant turn without a word is left out."""
    call = Call("c1", "look", "{}")
    turns = (
        Turn("user", " "),
        Turn("assistant", ""),
        Turn("user", "Look."),
        Turn("assistant", " \n", calls=(call,)),
        Turn("tool", "\n", call_id="c1", name="look"),
    )

    said = str(told(dialect, Prompt("", turns, tools=(LOOK,)))["messages"])

    assert said.count("(empty)") == 2
    assert "' '" not in said
    assert "''" not in said
    assert r"\n" not in said


def test_sampling_options_go_out_and_those_a_model_lacks_are_left_out(told: Any) -> None:
    prompt = hello(sampling=Sampling(temperature=0.2, max_tokens=50, seed=3, stop=("END",)))

    openai, anthropic = told("openai", prompt), told("anthropic", prompt)

    assert (openai["temperature"], openai["max_tokens"], openai["seed"], openai["stop"]) == (0.2, 50, 3, ["END"])
    assert (anthropic["temperature"], anthropic["max_tokens"], anthropic["stop_sequences"]) == (0.2, 50, ["END"])
    assert "seed" not in anthropic


@pytest.mark.parametrize("choice", ["required", "none"])
@pytest.mark.parametrize("status", [400, 422])
def test_a_provider_that_does_not_know_the_option_is_asked_once_more_without_it(
    choice: str, status: int, provider: Provider, ask: Ask
) -> None:
    provider.plays(fails(status, f"tool_choice '{choice}' is not supported"), says("Then so."))

    reply = ask(hello(tools=(LOOK,), tool_choice=choice))

    assert reply.text == "Then so."
    assert ["tool_choice" in request.body for request in provider.requests] == [True, False]
    assert all("tools" in request.body for request in provider.requests)
