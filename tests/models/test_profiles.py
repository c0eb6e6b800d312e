"""What is known of a model before its first request, and the retry without what it rejects."""

import asyncio
import json
import socket
import sys
from typing import Any

import pytest

from agentfn.models.providers.bedrock_model import BedrockModel
from agentfn.models.providers.litellm_internals import load_litellm
from agentfn.models.providers.litellm_model import LiteLLMModel
from agentfn.models.providers.openai_model import OpenAIModel
from provider_stubs.clients import LOOK_TOOL, AnyModel, Ask, AskStreaming, ClientKind, hello_request, make_model
from provider_stubs.script import Dialect, calls, fails, says
from provider_stubs.server import StubProvider

CLOSED: dict[str, Any] = {
    "type": "object",
    "properties": {"city": {"type": "string"}, "tags": {"type": "array", "items": {"type": "string"}}},
    "required": ["city", "tags"],
    "additionalProperties": False,
}
OPEN: dict[str, Any] = {"type": "object", "properties": {"args": {"type": "object"}}}
SHAPED = hello_request(schema=CLOSED)
OLDER = "bedrock/converse/anthropic.claude-sonnet-4-20250514-v1:0"  # litellm emulates a schema


def test_a_schema_goes_to_a_model_that_is_known_to_support_one(
    provider: StubProvider, ask: Ask, dialect: Dialect
) -> None:
    provider.play(says('{"city": "Paris", "tags": []}'))

    assert json.loads(ask(SHAPED).text)["city"] == "Paris"

    body = provider.requests[0].body
    match dialect:
        case "openai":
            shape = body["response_format"]
            assert shape["type"] == "json_schema"
            assert shape["json_schema"] == {"name": "answer", "schema": CLOSED, "strict": False}
        case "anthropic":
            assert body["output_format"]["schema"]["properties"].keys() == {"city", "tags"}
        case "bedrock":
            assert "city" in body["outputConfig"]["textFormat"]["structure"]["jsonSchema"]["schema"]


@pytest.mark.parametrize(
    ("dialect", "name", "schema"), [("bedrock", OLDER, CLOSED), ("bedrock", OLDER, OPEN), ("anthropic", "", OPEN)]
)
@pytest.mark.parametrize("streamed", [False, True])
def test_a_schema_that_litellm_emulates_with_a_call_gives_text(
    name: str,
    schema: dict[str, Any],
    streamed: bool,
    dialect: Dialect,
    provider: StubProvider,
    loop: asyncio.AbstractEventLoop,
    ask_streaming: AskStreaming,
) -> None:
    provider.play(calls(("c1", "json_tool_call", {"city": "Paris", "tags": []})))
    model, prompt = make_model(dialect, provider, name), hello_request(schema=schema)

    reply = ask_streaming(model, prompt)[1] if streamed else loop.run_until_complete(model.generate(prompt))

    assert json.loads(reply.text) == {"city": "Paris", "tags": []}
    assert (reply.tool_calls, reply.finish_reason) == ((), "stop")


@pytest.mark.parametrize("name", ["made-up-model", "gpt-4"])
def test_a_model_that_is_not_known_to_support_a_schema_gets_none(
    name: str, client: ClientKind, provider: StubProvider, loop: asyncio.AbstractEventLoop
) -> None:
    provider.play(says("{}"))

    loop.run_until_complete(make_model("openai", provider, f"openai/{name}", client=client).generate(SHAPED))

    assert "response_format" not in provider.requests[0].body


def test_a_schema_is_not_sent_beside_tools(provider: StubProvider, ask: Ask, dialect: Dialect) -> None:
    provider.play(says("{}"))

    ask(hello_request(schema=CLOSED, tools=(LOOK_TOOL,)))

    assert "city" not in str(provider.requests[0].body)


@pytest.mark.parametrize("status", [400, 422])
def test_a_provider_that_rejects_the_schema_gets_the_request_without_it(
    status: int, provider: StubProvider, ask: Ask
) -> None:
    provider.play(fails(status, "response_format: json_schema is not supported here"), says("Paris."))

    assert ask(SHAPED).text == "Paris."
    assert ["city" in str(request.body) for request in provider.requests] == [True, False]


@pytest.mark.parametrize(
    "name",
    [
        "openai/gpt-4o",
        "gpt-4o",
        "anthropic/claude-haiku-4-5",
        "bedrock/converse/us.anthropic.claude-sonnet-4-5-20250929-v1:0",
        "bedrock/us-east-1/amazon.nova-pro-v1:0",
        "openai/my-own-model",
        "openai/deepseek-reasoner",
        "openrouter/somebody/deepseek-reasoner",
        "ollama/llama3",
        "ollama_chat/qwen3",
        "nonsense",
    ],
)
def test_a_model_is_taken_to_call_tools_unless_it_is_known_not_to(name: str, loop: asyncio.AbstractEventLoop) -> None:
    assert loop.run_until_complete(LiteLLMModel(name).supports_tool_calls())


@pytest.mark.parametrize("name", ["deepseek/deepseek-reasoner", "deepseek-reasoner", "gemini/gemini-2.5-flash-image"])
def test_a_model_that_is_known_not_to_call_tools_says_so(name: str, loop: asyncio.AbstractEventLoop) -> None:
    assert not loop.run_until_complete(LiteLLMModel(name).supports_tool_calls())


@pytest.mark.parametrize(
    ("model", "calls_them"),
    [
        (OpenAIModel("openai/gpt-4o"), True),
        (OpenAIModel("my-own-model", base_url="http://192.0.2.1/v1"), True),
        (OpenAIModel("openai/gpt-5-chat"), False),
        (BedrockModel("bedrock/amazon.nova-pro-v1:0"), True),
        (BedrockModel("bedrock/converse/us.deepseek.r1-v1:0"), False),
        (BedrockModel("bedrock/arn:aws:bedrock:us-east-1:1:application-inference-profile/x"), True),
    ],
    ids=lambda case: getattr(case, "name", ""),
)
def test_an_http_model_knows_the_same(model: AnyModel, calls_them: bool, loop: asyncio.AbstractEventLoop) -> None:
    assert loop.run_until_complete(model.supports_tool_calls()) is calls_them


def test_capabilities_are_known_without_the_network(
    loop: asyncio.AbstractEventLoop, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError("a connection")

    monkeypatch.setattr(socket.socket, "connect", refuse)

    assert loop.run_until_complete(LiteLLMModel("ollama/mine", base_url="http://192.0.2.1:11434").supports_tool_calls())


def test_a_missing_litellm_is_reported_at_the_first_request(
    loop: asyncio.AbstractEventLoop, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "litellm", None)
    load_litellm.cache_clear()

    assert loop.run_until_complete(LiteLLMModel("openai/gpt-4o").supports_tool_calls())
