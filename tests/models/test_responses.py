import asyncio
import json

import pytest

from agentfn.models import Call, Usage
from provider_stubs.clients import LOOK, Ask, Telling, Way, hello, speaking
from provider_stubs.script import Dialect
from provider_stubs.server import Provider, Raw, calls, says


def test_a_text_answer_comes_with_its_tokens_and_its_price(provider: Provider, ask: Ask) -> None:
    provider.plays(says("In France."))

    reply = ask(hello())

    assert (reply.text, reply.calls, reply.finish) == ("In France.", (), "stop")
    assert (reply.usage.prompt, reply.usage.completion) == (11, 7)
    assert reply.usage.cost
    assert reply.usage.cost > 0


def test_tokens_read_from_a_cache_are_counted_within_the_prompt(provider: Provider, ask: Ask) -> None:
    provider.plays(says("In France.", cached=5))

    usage = ask(hello()).usage

    assert (usage.prompt, usage.cached, usage.uncached) == (11, 5, 6)


MADE_UP: list[tuple[Dialect, str]] = [
    ("openai", "openai/made-up-model"),
    ("openai", "openai/o99"),  # of a family that litellm knows: it makes up a price of 0
    ("anthropic", "anthropic/made-up-model"),
    ("anthropic", "anthropic/claude-opus-99"),
    ("bedrock", "bedrock/converse/made-up-model"),
]


@pytest.mark.parametrize(("dialect", "name"), MADE_UP)
def test_a_model_without_a_known_price_costs_none(
    way: Way, dialect: Dialect, name: str, provider: Provider, loop: asyncio.AbstractEventLoop, telling: Telling
) -> None:
    provider.plays(says("In France."), says("In France."))
    model = speaking(dialect, provider, name, way=way)

    assert loop.run_until_complete(model.ask(hello())).usage == Usage(11, 7, 0, None)
    assert telling(model, hello())[1].usage == Usage(11, 7, 0, None)


def test_parallel_calls_keep_their_order_their_ids_and_the_text_beside_them(provider: Provider, ask: Ask) -> None:
    provider.plays(calls(("c1", "look", {"at": "a"}), ("c2", "look", {"at": "b"}), text="Let me see."))

    reply = ask(hello(tools=(LOOK,)))

    assert reply.text == "Let me see."
    assert [(call.id, call.name, json.loads(call.arguments)) for call in reply.calls] == [
        ("c1", "look", {"at": "a"}),
        ("c2", "look", {"at": "b"}),
    ]
    assert reply.finish == "tool_calls"


@pytest.mark.parametrize("finish", ["stop", "length", "content_filter"])
def test_each_way_to_finish_is_told(finish: str, provider: Provider, ask: Ask) -> None:
    provider.plays(says("In Fra", finish=finish))

    assert ask(hello()).finish == finish


def test_calls_that_were_cut_off_say_so(provider: Provider, ask: Ask) -> None:
    provider.plays(calls(("c1", "look", {}), finish="length"))

    assert ask(hello(tools=(LOOK,))).finish == "length"


def test_calls_under_a_plain_stop_are_still_calls(provider: Provider, ask: Ask) -> None:
    provider.plays(calls(("c1", "look", {}), finish="stop"))

    assert ask(hello(tools=(LOOK,))).finish == "tool_calls"


@pytest.mark.parametrize("text", [None, ""])
def test_no_text_and_empty_text_are_the_same(text: str | None, provider: Provider, ask: Ask) -> None:
    provider.plays(says(text))

    reply = ask(hello())

    assert (reply.text, reply.calls, reply.finish) == ("", (), "stop")


@pytest.mark.parametrize("raw", ["", "null", '{"at": "Par', "[1]", '"x"'])
def test_arguments_come_out_as_the_model_wrote_them(
    raw: str, way: Way, provider: Provider, loop: asyncio.AbstractEventLoop
) -> None:
    """What they mean is for the tools to say. Anthropic's arguments are objects on the wire."""
    provider.plays(calls(("c1", "look", raw)))
    model = speaking("openai", provider, way=way)

    assert loop.run_until_complete(model.ask(hello(tools=(LOOK,)))).calls == (Call("c1", "look", raw),)


def test_a_provider_that_counts_no_tokens_costs_none(
    way: Way, provider: Provider, loop: asyncio.AbstractEventLoop
) -> None:
    choice = {"index": 0, "message": {"role": "assistant", "content": "In France."}, "finish_reason": "stop"}
    provider.plays(Raw({"id": "1", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice]}))
    model = speaking("openai", provider, "openai/made-up-model", way=way)

    assert loop.run_until_complete(model.ask(hello())).usage == Usage()
