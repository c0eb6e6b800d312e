"""The bodies that providers receive. The stubs reject what their provider rejects, so each test checks that too."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from agentfn.models import ModelRequest, Sampling, ToolCall, Turn
from provider_stubs.clients import (
    API_KEY,
    AWS_ENVIRONMENT,
    LOOK_TOOL,
    MODEL_CLASSES,
    Ask,
    ClientKind,
    hello_request,
    make_model,
    request_with_calls,
)
from provider_stubs.script import Dialect, fails, says
from provider_stubs.server import StubProvider

TWO = (ToolCall("c1", "look", '{"at": "a"}'), ToolCall("c2", "look", '{"at": "b"}'))
BARE: dict[str, Any] = {"type": "function", "function": {"name": "go", "description": "", "parameters": {}}}

type Seen = Callable[[Dialect, ModelRequest], dict[str, Any]]


@pytest.fixture
def seen(client: ClientKind, provider: StubProvider, loop: asyncio.AbstractEventLoop) -> Seen:
    """Sends a request in a dialect and returns the body that the provider received."""

    def seen(dialect: Dialect, prompt: ModelRequest) -> dict[str, Any]:
        provider.play(says("Yes."))
        leads: ClientKind = client if (client, dialect) in MODEL_CLASSES else "litellm"
        loop.run_until_complete(make_model(dialect, provider, client=leads).generate(prompt))
        return provider.requests[-1].body

    return seen


def test_the_key_and_the_model_reach_the_provider_at_its_own_address(
    provider: StubProvider, ask: Ask, dialect: Dialect
) -> None:
    provider.play(says("Yes."))
    ask(hello_request())

    request = provider.requests[0]

    match dialect:
        case "openai":
            assert (request.path, request.headers["authorization"]) == ("/v1/chat/completions", f"Bearer {API_KEY}")
        case "anthropic":
            assert (request.path, request.headers["x-api-key"]) == ("/v1/messages", API_KEY)
        case "bedrock":
            assert request.path.startswith("/model/us.anthropic.claude-sonnet-4-5-20250929-v1%3A0/converse")
            assert f"Credential={AWS_ENVIRONMENT['AWS_ACCESS_KEY_ID']}/" in request.headers["authorization"]
    assert "/" not in request.body.get("model", "")


def test_openai_gets_all_results_right_after_their_calls(seen: Seen) -> None:
    messages = seen("openai", request_with_calls(*TWO, after=(Turn("user", "And?"),)))["messages"]

    assert [message["role"] for message in messages] == ["system", "user", "assistant", "tool", "tool", "user"]
    assert [call["id"] for call in messages[2]["tool_calls"]] == ["c1", "c2"]
    assert [message["tool_call_id"] for message in messages[3:5]] == ["c1", "c2"]
    assert messages[2].get("content") is None


def test_anthropic_gets_all_results_in_one_turn_before_what_the_user_said_next(seen: Seen) -> None:
    body = seen("anthropic", request_with_calls(*TWO, after=(Turn("user", "And?"),)))
    asked, answered = body["messages"][1:]

    assert [block["id"] for block in asked["content"]] == ["c1", "c2"]
    assert [block["input"] for block in asked["content"]] == [{"at": "a"}, {"at": "b"}]
    assert [block["type"] for block in answered["content"]] == ["tool_result", "tool_result", "text"]
    assert [block["tool_use_id"] for block in answered["content"][:2]] == ["c1", "c2"]


def test_bedrock_gets_all_results_in_one_turn_before_what_the_user_said_next(seen: Seen) -> None:
    body = seen("bedrock", request_with_calls(*TWO, after=(Turn("user", "And?"),)))
    asked, answered = body["messages"][1:]

    assert [block["toolUse"]["toolUseId"] for block in asked["content"]] == ["c1", "c2"]
    assert [block["toolUse"]["input"] for block in asked["content"]] == [{"at": "a"}, {"at": "b"}]
    assert [block["toolResult"]["toolUseId"] for block in answered["content"][:2]] == ["c1", "c2"]
    assert answered["content"][2:] == [{"text": "And?"}]


def test_turns_of_the_user_may_follow_one_another(seen: Seen, dialect: Dialect) -> None:
    turns = (Turn("user", "One."), Turn("user", "Two."), Turn("assistant", "Yes."), Turn("user", "Three."))

    messages = str(seen(dialect, ModelRequest("", turns))["messages"])

    assert messages.index("One.") < messages.index("Two.") < messages.index("Yes.") < messages.index("Three.")


def test_a_call_after_the_results_of_another_one_gets_its_own(seen: Seen, dialect: Dialect) -> None:
    again = ToolCall("c3", "look", '{"at": "c"}')
    after = (
        Turn("assistant", "Once more.", tool_calls=(again,)),
        Turn("tool", "saw c3", tool_call_id="c3", tool_name="look"),
    )

    said = str(seen(dialect, request_with_calls(*TWO, after=after))["messages"])

    assert said.index("saw c2") < said.index("Once more.") < said.index("saw c3")


@pytest.mark.parametrize(("dialect", "none"), [("openai", "none"), ("anthropic", {"type": "none"})])
def test_tools_stay_declared_on_the_final_turn_that_may_not_use_them(
    dialect: Dialect, none: object, seen: Seen
) -> None:
    body = seen(dialect, request_with_calls(*TWO, tool_choice="none"))

    assert len(body["tools"]) == 1
    assert body["tool_choice"] == none


def test_bedrock_has_no_choice_of_none_so_the_tools_stay_and_the_choice_is_left_out(seen: Seen) -> None:
    config = seen("bedrock", request_with_calls(*TWO, tool_choice="none"))["toolConfig"]

    assert len(config["tools"]) == 1
    assert "toolChoice" not in config


@pytest.mark.parametrize(
    ("dialect", "required"), [("openai", "required"), ("anthropic", {"type": "any"}), ("bedrock", {"any": {}})]
)
def test_a_forced_tool_call_is_said_in_the_dialect(dialect: Dialect, required: object, seen: Seen) -> None:
    assert _choice(seen(dialect, hello_request(tools=(LOOK_TOOL,), tool_choice="required"))) == required


def test_the_free_choice_is_not_mentioned_and_no_tools_are_no_options(seen: Seen, dialect: Dialect) -> None:
    assert _choice(seen(dialect, hello_request(tools=(LOOK_TOOL,)))) is None

    bare = seen(dialect, hello_request(tool_choice="none"))

    assert not {"tools", "tool_choice", "toolConfig"} & set(bare)


def test_tools_that_were_not_called_are_accepted(seen: Seen, dialect: Dialect) -> None:
    turns = (Turn("user", "Hi!"), Turn("assistant", "Hello."), Turn("user", "Bye!"))

    assert "look" in str(seen(dialect, ModelRequest("", turns, tools=(LOOK_TOOL,))))


def test_a_tool_without_a_description_or_parameters_is_accepted(seen: Seen, dialect: Dialect) -> None:
    assert "go" in str(seen(dialect, hello_request(tools=(BARE,))))


@pytest.mark.parametrize("raw", ["", " ", "null", '{"at": "Par', "[1]", '"x"', "7"])
def test_arguments_that_are_no_object_are_replayed_as_an_empty_one(raw: str, seen: Seen) -> None:
    prompt = request_with_calls(ToolCall("c1", "look", raw))

    assert seen("openai", prompt)["messages"][2]["tool_calls"][0]["function"]["arguments"] == "{}"
    assert seen("anthropic", prompt)["messages"][1]["content"][0]["input"] == {}
    assert seen("bedrock", prompt)["messages"][1]["content"][0]["toolUse"]["input"] == {}


def test_a_name_that_the_model_made_up_is_replayed_in_a_form_providers_take(seen: Seen, dialect: Dialect) -> None:
    prompt = request_with_calls(ToolCall("c1", "look at, please!", "{}"))

    assert "'look_at__please_'" in str(seen(dialect, prompt)["messages"])


def test_nothing_blank_is_sent(seen: Seen, dialect: Dialect) -> None:
    """Bedrock and Anthropic refuse blank text; an assistant turn without a word is left out."""
    call = ToolCall("c1", "look", "{}")
    turns = (
        Turn("user", " "),
        Turn("assistant", ""),
        Turn("user", "Look."),
        Turn("assistant", " \n", tool_calls=(call,)),
        Turn("tool", "\n", tool_call_id="c1", tool_name="look"),
    )

    body = seen(dialect, ModelRequest(" \n", turns, tools=(LOOK_TOOL,)))
    said = str(body["messages"])

    assert said.count("(empty)") == 2
    assert "' '" not in said
    assert "''" not in said
    assert r"\n" not in said
    assert not body.get("system")


def test_sampling_options_go_out_and_those_a_model_lacks_are_left_out(seen: Seen) -> None:
    prompt = hello_request(sampling=Sampling(temperature=0.2, max_tokens=50, seed=3, stop=("END",)))

    openai, anthropic = seen("openai", prompt), seen("anthropic", prompt)
    bedrock = seen("bedrock", prompt)["inferenceConfig"]

    assert (openai["temperature"], openai["max_tokens"], openai["seed"], openai["stop"]) == (0.2, 50, 3, ["END"])
    assert (anthropic["temperature"], anthropic["max_tokens"], anthropic["stop_sequences"]) == (0.2, 50, ["END"])
    assert bedrock == {"temperature": 0.2, "maxTokens": 50, "stopSequences": ["END"]}
    assert "seed" not in anthropic


@pytest.mark.parametrize(
    ("dialect", "choice"),
    [
        ("openai", "required"),
        ("openai", "none"),
        ("anthropic", "required"),
        ("anthropic", "none"),
        ("bedrock", "required"),
    ],
)
@pytest.mark.parametrize("status", [400, 422])
def test_a_provider_that_rejects_the_option_gets_the_request_without_it(
    choice: str, status: int, provider: StubProvider, ask: Ask
) -> None:
    provider.play(fails(status, f"tool_choice '{choice}' is not supported"), says("Then so."))

    reply = ask(hello_request(tools=(LOOK_TOOL,), tool_choice=choice))

    assert reply.text == "Then so."
    assert [_choice(request.body) is None for request in provider.requests] == [False, True]
    assert all("look" in str(request.body) for request in provider.requests)


def _choice(body: dict[str, Any]) -> Any:
    return body.get("tool_choice", body.get("toolConfig", {}).get("toolChoice"))
