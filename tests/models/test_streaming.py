"""Streamed responses."""

import asyncio
import dataclasses
import json
import time
from collections.abc import AsyncGenerator
from typing import Any

import pytest

from agentfn.errors import ContextWindowExceeded, ModelError, ModelRequestRejected, ModelUnavailable
from agentfn.models import ModelRequest, ModelResponse, SupportsStreaming, SupportsToolQuery, ToolCall, Usage
from provider_stubs.clients import LOOK_TOOL, AnyModel, AskStreaming, hello_request
from provider_stubs.dialects import streamed
from provider_stubs.script import (
    BrokenStream,
    Deltas,
    Dialect,
    RawBody,
    RepeatedEvents,
    ScriptedError,
    calls,
    deltas,
    fails,
    says,
)
from provider_stubs.server import StubProvider

LOOKING = hello_request(tools=(LOOK_TOOL,))
TWO = calls(("c1", "look", {"at": "a"}), ("c2", "look", {"at": "b"}))
BOTH = (ToolCall("c1", "look", '{"at": "a"}'), ToolCall("c2", "look", '{"at": "b"}'))


def test_a_model_supports_streaming_and_the_query_for_tools(model: AnyModel) -> None:
    assert isinstance(model, SupportsStreaming)
    assert isinstance(model, SupportsToolQuery)


def test_the_text_comes_in_pieces_and_then_in_the_whole_response(
    provider: StubProvider, model: AnyModel, ask_streaming: AskStreaming
) -> None:
    provider.play(says("In the middle of France."))

    pieces, reply = ask_streaming(model, hello_request())

    assert len(pieces) == 3
    assert "".join(pieces) == reply.text == "In the middle of France."


def test_an_answer_of_calls_alone_has_no_pieces(
    provider: StubProvider, model: AnyModel, ask_streaming: AskStreaming
) -> None:
    provider.play(TWO)

    pieces, reply = ask_streaming(model, LOOKING)

    assert pieces == []
    assert (reply.text, reply.tool_calls, reply.finish_reason) == ("", BOTH, "tool_calls")


def test_a_streamed_answer_is_the_plain_one_to_the_last_cent(
    provider: StubProvider, model: AnyModel, ask_streaming: AskStreaming, loop: asyncio.AbstractEventLoop
) -> None:
    line = calls(("c1", "look", {"at": "a"}), text="Let me see.")
    provider.play(*[dataclasses.replace(line, prompt=2000, cached=5)] * 2)

    reply = ask_streaming(model, LOOKING)[1]

    assert reply == loop.run_until_complete(model.generate(LOOKING))
    assert reply.usage.cached_tokens == 5
    assert reply.usage.cost


def _piece(index: int | None, id_: str | None, name: str | None, arguments: str) -> dict[str, Any]:
    function = {"arguments": arguments} | ({"name": name} if name is not None else {})
    placed = ({"index": index} if index is not None else {}) | ({"id": id_} if id_ is not None else {})
    return {"tool_calls": [{**placed, "type": "function", "function": function}]}


A1, A2, B1, B2 = '{"at"', ': "a"}', '{"at"', ': "b"}'
WHOLE = (("c1", "look", A1 + A2), ("c2", "look", B1 + B2))
HABITS: dict[str, Deltas] = {
    "as documented, by turns": deltas(
        _piece(0, "c1", "look", ""), _piece(1, "c2", "look", ""), _piece(0, None, None, A1),
        _piece(1, None, None, B1), _piece(0, None, None, A2), _piece(1, None, None, B2),
    ),
    "id and name with each piece": deltas(
        _piece(0, "c1", "look", A1), _piece(1, "c2", "look", B1), _piece(0, "c1", "look", A2),
        _piece(1, "c2", "look", B2),
    ),
    "empty id and name with later pieces": deltas(
        _piece(0, "c1", "look", A1), _piece(0, "", "", A2), _piece(1, "c2", "look", B1), _piece(1, "", "", B2),
    ),
    "no index": deltas(
        _piece(None, "c1", "look", A1), _piece(None, None, None, A2), _piece(None, "c2", "look", B1),
        _piece(None, None, None, B2),
    ),
    "no index, id with each piece": deltas(
        _piece(None, "c1", "look", A1), _piece(None, "c2", "look", B1), _piece(None, "c1", None, A2),
        _piece(None, "c2", None, B2),
    ),
    "index 0 for all": deltas(_piece(0, "c1", "look", A1 + A2), _piece(0, "c2", "look", B1 + B2)),
    "a new id for each piece": deltas(
        _piece(0, "c1", "look", A1), _piece(0, "x1", None, A2), _piece(1, "c2", "look", B1), _piece(1, "x2", None, B2),
    ),
    "all in one": deltas(
        {"tool_calls": [_piece(at, *call)["tool_calls"][0] for at, call in enumerate(WHOLE)]},
    ),
    "the first piece twice": deltas(
        _piece(0, "c1", "look", ""), _piece(0, "c1", "look", ""), _piece(0, None, None, A1 + A2),
        _piece(1, "c2", "look", B1 + B2),
    ),
    "no end but a finish reason beside the last piece": deltas(
        _piece(0, "c1", "look", A1 + A2), _piece(1, "c2", "look", B1 + B2) | {"finish_reason": "tool_calls"},
        finish=None,
    ),
    "a plain stop": deltas(_piece(0, "c1", "look", A1 + A2), _piece(1, "c2", "look", B1 + B2), finish="stop"),
}  # fmt: skip


@pytest.mark.parametrize("dialect", ["openai"])
@pytest.mark.parametrize("habit", HABITS)
def test_parallel_calls_come_out_right_whatever_the_habits_of_a_provider(
    habit: str, provider: StubProvider, model: AnyModel, ask_streaming: AskStreaming
) -> None:
    provider.play(HABITS[habit])

    reply = ask_streaming(model, LOOKING)[1]

    assert (reply.tool_calls, reply.finish_reason) == (BOTH, "tool_calls")


@pytest.mark.parametrize("dialect", ["openai"])
def test_parallel_calls_without_ids_are_distinguished_by_index_or_name(
    provider: StubProvider, model: AnyModel, ask_streaming: AskStreaming
) -> None:
    provider.play(
        deltas(_piece(0, None, "look", A1), _piece(1, None, "look", B1 + B2), _piece(0, None, None, A2)),
        deltas(_piece(None, None, "look", A1 + A2), _piece(None, None, "look", B1 + B2)),
    )

    for _ in range(2):
        reply = ask_streaming(model, LOOKING)[1]
        assert [json.loads(call.arguments)["at"] for call in reply.tool_calls] == ["a", "b"]


@pytest.mark.parametrize("dialect", ["openai"])
def test_parallel_calls_of_one_id_are_distinguished_by_index(
    provider: StubProvider, model: AnyModel, ask_streaming: AskStreaming
) -> None:
    """As in a plain response; the loop replaces the ids."""
    one, other = (_piece(0, "c1", "look", A1), _piece(0, "c1", None, A2)), (_piece(1, "c1", "look", B1 + B2),)
    provider.play(deltas(*one, *other))

    assert ask_streaming(model, LOOKING)[1].tool_calls == (BOTH[0], ToolCall("c1", "look", B1 + B2))


@pytest.mark.parametrize("dialect", ["openai"])
def test_a_finish_reason_beside_the_last_text_counts(
    provider: StubProvider, model: AnyModel, ask_streaming: AskStreaming
) -> None:
    provider.play(deltas({"content": "In "}, {"content": "Fra", "finish_reason": "length"}, finish=None))

    pieces, reply = ask_streaming(model, hello_request())

    assert (pieces, reply.text, reply.finish_reason) == (["In ", "Fra"], "In Fra", "length")


# Of the stream of two calls: what opens and closes the message and its blocks, not what fills them.
FRAMES: dict[Dialect, tuple[int, ...]] = {
    "openai": (0, 1, 2, 9, 10, 11),
    "anthropic": (0, 1, 6, 7, 12, 13, 14),
    "bedrock": (0, 1, 5, 6, 10, 11, 12),
}


def test_an_event_that_comes_twice_counts_once(
    provider: StubProvider, dialect: Dialect, model: AnyModel, ask_streaming: AskStreaming
) -> None:
    provider.play(TWO, RepeatedEvents(TWO, FRAMES[dialect]))

    once, twice = ask_streaming(model, LOOKING)[1], ask_streaming(model, LOOKING)[1]

    assert [(call.id, json.loads(call.arguments)) for call in twice.tool_calls] == [
        ("c1", {"at": "a"}),
        ("c2", {"at": "b"}),
    ]
    assert twice.usage == once.usage


LONG = says("In the middle of France.")


@pytest.mark.parametrize("how", ["end", "reset"])
@pytest.mark.parametrize("line", [LONG, TWO], ids=["text", "calls"])
def test_a_stream_that_ends_early_is_no_response_wherever_it_ends(
    how: Any, line: Any, provider: StubProvider, dialect: Dialect, model: AnyModel, loop: asyncio.AbstractEventLoop
) -> None:
    """The last two events of each dialect are its finish reason's and what may come after it."""
    finish = {"openai": -3, "anthropic": -2, "bedrock": -2}[dialect]
    body = {"stream_options": {"include_usage": True}}
    places = range(len(streamed(dialect, line, body)) + finish + 1)
    provider.play(*[BrokenStream(line, place, how) for place in places])

    for _ in places:
        pieces: list[str | ModelResponse] = []
        with pytest.raises(ModelUnavailable):
            loop.run_until_complete(_collected(model.stream(LOOKING), pieces))
        assert LONG.text
        assert LONG.text.startswith("".join(str(piece) for piece in pieces))

    assert len(provider.requests) == len(places)
    assert not asyncio.all_tasks(loop)


ENDINGS: list[tuple[Dialect, ScriptedError, type[ModelError]]] = [
    ("openai", fails(200, "The server had an error", kind="server_error"), ModelUnavailable),
    ("openai", fails(200, "Rate limit reached", kind="rate_limit_exceeded"), ModelUnavailable),
    ("anthropic", fails(200, "Overloaded", kind="overloaded_error"), ModelUnavailable),
    ("anthropic", fails(200, "Internal server error", kind="api_error"), ModelUnavailable),
    ("anthropic", fails(200, "Number of tokens a minute", kind="rate_limit_error"), ModelUnavailable),
    ("bedrock", fails(200, "Retry your request.", kind="ModelStreamErrorException"), ModelUnavailable),
    ("bedrock", fails(200, "Too many tokens, please wait.", kind="ThrottlingException"), ModelUnavailable),
    ("bedrock", fails(200, "It failed.", kind="InternalServerException"), ModelUnavailable),
    ("bedrock", fails(200, "Not now.", kind="ServiceUnavailableException"), ModelUnavailable),
    ("bedrock", fails(200, "The stream is odd.", kind="ValidationException"), ModelRequestRejected),
    (
        "bedrock",
        fails(200, "Input is too long for requested model.", kind="ValidationException"),
        ContextWindowExceeded,
    ),
]


@pytest.mark.parametrize(("dialect", "failed", "error"), ENDINGS, ids=lambda case: getattr(case, "kind", ""))
@pytest.mark.parametrize("after", [0, 3])
def test_an_error_in_the_middle_of_a_stream_is_mapped(
    after: int,
    failed: ScriptedError,
    error: type[ModelError],
    provider: StubProvider,
    model: AnyModel,
    loop: asyncio.AbstractEventLoop,
) -> None:
    provider.play(BrokenStream(LONG, after, "error", failed))

    with pytest.raises(ModelError) as caught:
        loop.run_until_complete(_collected(model.stream(hello_request()), []))

    assert type(caught.value) is error
    assert not asyncio.all_tasks(loop)


def test_a_silent_stream_ends_at_its_timeout(
    provider: StubProvider, model: AnyModel, loop: asyncio.AbstractEventLoop
) -> None:
    provider.play(BrokenStream(LONG, 4, "hang"))
    pieces: list[str | ModelResponse] = []
    began = time.monotonic()

    with pytest.raises(ModelUnavailable, match=r"did not answer within 2 s"):
        loop.run_until_complete(_collected(model.stream(hello_request(timeout=2.0)), pieces))

    assert 1.9 < time.monotonic() - began < 60
    assert pieces
    loop.run_until_complete(_hung_up(provider))


def test_a_reader_that_leaves_closes_the_connection(
    provider: StubProvider, model: AnyModel, loop: asyncio.AbstractEventLoop
) -> None:
    provider.play(BrokenStream(LONG, 4, "hang"), says("next"))

    async def one_piece() -> str | ModelResponse:
        stream = model.stream(hello_request())
        piece = await anext(stream)
        await stream.aclose()
        await _hung_up(provider)
        return piece

    assert loop.run_until_complete(one_piece()) == "In the m"
    assert not asyncio.all_tasks(loop)
    assert loop.run_until_complete(model.generate(hello_request())).text == "next"


def test_a_reader_that_is_cancelled_closes_the_connection(
    provider: StubProvider, model: AnyModel, loop: asyncio.AbstractEventLoop
) -> None:
    provider.play(BrokenStream(LONG, 4, "hang"))
    pieces: list[str | ModelResponse] = []

    async def cancelled() -> None:
        reading = asyncio.ensure_future(_collected(model.stream(hello_request()), pieces))
        while not pieces:
            await asyncio.sleep(0.01)
        reading.cancel()
        with pytest.raises(asyncio.CancelledError):
            await reading
        await _hung_up(provider)

    loop.run_until_complete(cancelled())

    assert not asyncio.all_tasks(loop)


def test_a_stream_that_is_not_iterated_sends_nothing(
    provider: StubProvider, model: AnyModel, loop: asyncio.AbstractEventLoop
) -> None:
    loop.run_until_complete(model.stream(hello_request()).aclose())

    assert not provider.requests


def test_a_stream_that_was_read_to_its_end_leaves_no_task_behind(
    provider: StubProvider, model: AnyModel, ask_streaming: AskStreaming, loop: asyncio.AbstractEventLoop
) -> None:
    provider.play(LONG)

    ask_streaming(model, hello_request())

    assert not asyncio.all_tasks(loop)


@pytest.mark.parametrize("dialect", ["openai"])
def test_a_server_that_rejects_stream_options_gets_the_request_without_them(
    provider: StubProvider, model: AnyModel, ask_streaming: AskStreaming
) -> None:
    provider.play(fails(400, "Unrecognized request argument supplied: stream_options"), LONG)

    reply = ask_streaming(model, hello_request())[1]

    assert (reply.text, reply.usage) == (LONG.text, Usage())
    assert ["stream_options" in request.body for request in provider.requests] == [True, False]


def test_a_response_that_is_no_stream_means_unavailable(
    provider: StubProvider, model: AnyModel, loop: asyncio.AbstractEventLoop
) -> None:
    provider.play(RawBody({}))

    with pytest.raises(ModelUnavailable):
        loop.run_until_complete(_collected(model.stream(hello_request()), []))


def test_concurrent_streams_do_not_mix(
    provider: StubProvider, model: AnyModel, loop: asyncio.AbstractEventLoop
) -> None:
    provider.play(*[LONG] * 5)
    prompts: list[ModelRequest] = [hello_request(f"Question {number}") for number in range(5)]
    heard: list[list[str | ModelResponse]] = [[] for _ in prompts]

    async def all_of_them() -> None:
        await asyncio.gather(
            *[_collected(model.stream(prompt), into) for prompt, into in zip(prompts, heard, strict=True)]
        )

    loop.run_until_complete(all_of_them())

    assert ["".join(map(str, pieces[:-1])) for pieces in heard] == [LONG.text] * 5


async def _collected(stream: AsyncGenerator[str | ModelResponse], into: list[str | ModelResponse]) -> None:
    try:
        async for item in stream:
            into.append(item)  # noqa: PERF401 - what came before an error counts
    finally:
        await stream.aclose()


async def _hung_up(provider: StubProvider) -> None:
    async with asyncio.timeout(60):
        while provider.hang_ups < 1:
            await asyncio.sleep(0.02)
