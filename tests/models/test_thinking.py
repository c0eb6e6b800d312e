"""Signed thinking blocks, which their provider needs back with the results of the calls after them."""

import asyncio
import dataclasses
from base64 import b64encode

import pytest

from agentfn.models import ModelRequest, ModelResponse, Sampling, ToolCall, Turn
from provider_stubs.clients import LOOK_TOOL, Ask, ClientKind, hello_request, make_model, request_with_calls
from provider_stubs.script import Dialect, ScriptedReply, calls, says
from provider_stubs.server import StubProvider

EFFORT = Sampling(reasoning_effort="low")
ASKED = hello_request(tools=(LOOK_TOOL,), sampling=EFFORT)
THOUGHT = ("The user wants me to look at it.", "sig-EqQBCgIYAhIM1gbcDa9GJwZA2b3hGgxBdjrkzLoky3dl")
REDACTED = ("", "cmVkYWN0ZWQtRW1yMTIzNDU2Nzg5MA==")
LOOKING = dataclasses.replace(calls(("c1", "look", {"at": "a"}), text="Let me see."), thinking=(THOUGHT,))
SIGNED = {"type": "thinking", "thinking": THOUGHT[0], "signature": THOUGHT[1]}
THINKERS: list[Dialect] = ["anthropic", "bedrock"]


def _next(asked: ModelRequest, reply: ModelResponse) -> ModelRequest:
    result = Turn("tool", "It is red.", tool_call_id=reply.tool_calls[0].id, tool_name="look")
    return dataclasses.replace(asked, turns=(*asked.turns, reply.turn, result))


@pytest.mark.parametrize("dialect", THINKERS)
def test_the_second_of_two_turns_brings_the_signed_thought_back_before_its_call(
    dialect: Dialect, provider: StubProvider, ask: Ask
) -> None:
    provider.play(LOOKING, says("Red."))

    first = ask(ASKED)
    second = ask(_next(ASKED, first))

    assert (first.thinking, first.text, second.text) == ((SIGNED,), "Let me see.", "Red.")
    asked = provider.requests[1].body["messages"][1]["content"]
    if dialect == "anthropic":
        assert asked[0] == SIGNED
        assert [block["type"] for block in asked] == ["thinking", "text", "tool_use"]
    else:
        assert asked[0] == {"reasoningContent": {"reasoningText": {"text": THOUGHT[0], "signature": THOUGHT[1]}}}
        assert [next(iter(block)) for block in asked] == ["reasoningContent", "text", "toolUse"]
    assert all("'enabled'" in str(request.body) for request in provider.requests)


@pytest.mark.parametrize("dialect", THINKERS)
def test_blocks_keep_their_order_and_a_redacted_one_comes_back_too(
    dialect: Dialect, provider: StubProvider, ask: Ask
) -> None:
    """On Bedrock's wire a redacted one is bytes, in base64."""
    other = ("And then to tell the colour.", "sig-two")
    provider.play(dataclasses.replace(LOOKING, thinking=(THOUGHT, REDACTED, other)), says("Red."))

    reply = ask(ASKED)
    ask(_next(ASKED, reply))

    assert [block["type"] for block in reply.thinking] == ["thinking", "redacted_thinking", "thinking"]
    assert reply.thinking[0] == SIGNED
    sent = str(provider.requests[1].body["messages"][1]["content"])
    redacted = REDACTED[1] if dialect == "anthropic" else b64encode(REDACTED[1].encode()).decode()
    assert reply.thinking[1]["data"] == REDACTED[1]
    assert sent.index(THOUGHT[1]) < sent.index(redacted) < sent.index("sig-two") < sent.index("c1")


@pytest.mark.parametrize("dialect", THINKERS)
def test_a_thought_without_calls_is_kept_and_goes_back(provider: StubProvider, ask: Ask) -> None:
    provider.play(ScriptedReply("Red.", thinking=(THOUGHT,)), says("Yes."))
    asked = hello_request(sampling=EFFORT)

    reply = ask(asked)
    ask(dataclasses.replace(asked, turns=(*asked.turns, reply.turn, Turn("user", "Really?"))))

    assert reply.thinking == (SIGNED,)
    assert THOUGHT[1] in str(provider.requests[1].body["messages"])


@pytest.mark.parametrize(
    ("client", "name"),
    [
        ("litellm", "openai/gpt-4o"),
        ("litellm", "azure_ai/gpt-4o"),
        ("litellm", "hosted_vllm/mine"),
        ("litellm", "databricks/mine"),
        ("direct", "openai/gpt-4o"),
    ],
)
def test_thinking_does_not_go_to_another_provider(
    client: ClientKind, name: str, provider: StubProvider, loop: asyncio.AbstractEventLoop
) -> None:
    """A task may continue with another model."""
    turns = (Turn("user", "Hi!"), Turn("assistant", "Hello.", thinking=(SIGNED,)), Turn("user", "Bye!"))
    provider.play(says("Bye."))

    loop.run_until_complete(make_model("openai", provider, name, client=client).generate(ModelRequest("", turns)))

    assert "thinking" not in str(provider.requests[0].body)
    assert not provider.refusals


@pytest.mark.parametrize("dialect", ["anthropic"])
def test_a_model_that_takes_over_calls_without_thinking_continues_without_thinking(
    provider: StubProvider, ask: Ask
) -> None:
    provider.play(says("Red."))
    prompt = request_with_calls(ToolCall("c1", "look", "{}"), sampling=EFFORT)

    assert ask(prompt).text == "Red."
    assert "thinking" not in provider.requests[-1].body


@pytest.mark.parametrize("dialect", ["bedrock"])
def test_unsigned_thinking_is_not_kept(provider: StubProvider, ask: Ask) -> None:
    provider.play(ScriptedReply("Red.", thinking=(("Hm.", ""),)))

    assert ask(hello_request()).thinking == ()


def test_a_response_without_thinking_has_none(provider: StubProvider, ask: Ask) -> None:
    provider.play(says("Yes."))

    assert ask(hello_request()).thinking == ()
