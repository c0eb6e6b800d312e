import asyncio
import json

import pytest

from agentfn.models import ToolCall, Usage
from provider_stubs.clients import LOOK_TOOL, Ask, AskStreaming, ClientKind, hello_request, make_model
from provider_stubs.script import Dialect
from provider_stubs.server import RawBody, StubProvider, calls, says


def test_a_text_answer_comes_with_its_tokens_and_its_price(provider: StubProvider, ask: Ask) -> None:
    provider.play(says("In France."))

    reply = ask(hello_request())

    assert (reply.text, reply.tool_calls, reply.finish_reason) == ("In France.", (), "stop")
    assert (reply.usage.prompt_tokens, reply.usage.completion_tokens) == (11, 7)
    assert reply.usage.cost
    assert reply.usage.cost > 0


def test_tokens_read_from_a_cache_are_counted_within_the_prompt(provider: StubProvider, ask: Ask) -> None:
    provider.play(says("In France.", cached=5))

    usage = ask(hello_request()).usage

    assert (usage.prompt_tokens, usage.cached_tokens, usage.uncached_tokens) == (11, 5, 6)


MADE_UP: list[tuple[Dialect, str]] = [
    ("openai", "openai/made-up-model"),
    ("openai", "openai/o99"),  # of a family that litellm knows: it makes up a price of 0
    ("anthropic", "anthropic/made-up-model"),
    ("anthropic", "anthropic/claude-opus-99"),
    ("bedrock", "bedrock/converse/made-up-model"),
]


@pytest.mark.parametrize(("dialect", "name"), MADE_UP)
def test_a_model_without_a_known_price_costs_none(
    client: ClientKind,
    dialect: Dialect,
    name: str,
    provider: StubProvider,
    loop: asyncio.AbstractEventLoop,
    ask_streaming: AskStreaming,
) -> None:
    provider.play(says("In France."), says("In France."))
    model = make_model(dialect, provider, name, client=client)

    assert loop.run_until_complete(model.generate(hello_request())).usage == Usage(11, 7, 0, None)
    assert ask_streaming(model, hello_request())[1].usage == Usage(11, 7, 0, None)


def test_parallel_calls_keep_their_order_their_ids_and_the_text_beside_them(provider: StubProvider, ask: Ask) -> None:
    provider.play(calls(("c1", "look", {"at": "a"}), ("c2", "look", {"at": "b"}), text="Let me see."))

    reply = ask(hello_request(tools=(LOOK_TOOL,)))

    assert reply.text == "Let me see."
    assert [(call.id, call.name, json.loads(call.arguments)) for call in reply.tool_calls] == [
        ("c1", "look", {"at": "a"}),
        ("c2", "look", {"at": "b"}),
    ]
    assert reply.finish_reason == "tool_calls"


@pytest.mark.parametrize("finish", ["stop", "length", "content_filter"])
def test_each_finish_reason_is_mapped(finish: str, provider: StubProvider, ask: Ask) -> None:
    provider.play(says("In Fra", finish=finish))

    assert ask(hello_request()).finish_reason == finish


def test_truncated_calls_are_marked(provider: StubProvider, ask: Ask) -> None:
    provider.play(calls(("c1", "look", {}), finish="length"))

    assert ask(hello_request(tools=(LOOK_TOOL,))).finish_reason == "length"


def test_calls_under_a_plain_stop_are_still_calls(provider: StubProvider, ask: Ask) -> None:
    provider.play(calls(("c1", "look", {}), finish="stop"))

    assert ask(hello_request(tools=(LOOK_TOOL,))).finish_reason == "tool_calls"


@pytest.mark.parametrize("text", [None, ""])
def test_no_text_and_empty_text_are_the_same(text: str | None, provider: StubProvider, ask: Ask) -> None:
    provider.play(says(text))

    reply = ask(hello_request())

    assert (reply.text, reply.tool_calls, reply.finish_reason) == ("", (), "stop")


@pytest.mark.parametrize("raw", ["", "null", '{"at": "Par', "[1]", '"x"'])
def test_arguments_come_out_as_the_model_wrote_them(
    raw: str, client: ClientKind, provider: StubProvider, loop: asyncio.AbstractEventLoop
) -> None:
    """The tools parse them. Anthropic's arguments are objects on the wire."""
    provider.play(calls(("c1", "look", raw)))
    model = make_model("openai", provider, client=client)

    assert loop.run_until_complete(model.generate(hello_request(tools=(LOOK_TOOL,)))).tool_calls == (
        ToolCall("c1", "look", raw),
    )


def test_a_provider_that_counts_no_tokens_costs_none(
    client: ClientKind, provider: StubProvider, loop: asyncio.AbstractEventLoop
) -> None:
    choice = {"index": 0, "message": {"role": "assistant", "content": "In France."}, "finish_reason": "stop"}
    provider.play(RawBody({"id": "1", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice]}))
    model = make_model("openai", provider, "openai/made-up-model", client=client)

    assert loop.run_until_complete(model.generate(hello_request())).usage == Usage()
