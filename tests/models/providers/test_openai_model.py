"""What only the OpenAI provider does: the deviations of servers with its API, and its options."""

import asyncio
from typing import Any

import pytest

from agentfn.errors import ModelError, ModelRequestRejected, ModelUnavailable
from agentfn.models import Sampling, ToolCall, Usage
from agentfn.models.providers.openai_model import OpenAIModel
from provider_stubs.clients import API_KEY, LOOK_TOOL, AskStreaming, hello_request, request_with_calls
from provider_stubs.script import BrokenStream, Deltas, RawBody, fails, says
from provider_stubs.server import StubProvider

COOL = hello_request(sampling=Sampling(temperature=0.2, max_tokens=50))


@pytest.fixture
def model(provider: StubProvider) -> OpenAIModel:
    return OpenAIModel("openai/gpt-4o", api_key=lambda: API_KEY, base_url=provider.openai)


def _answer(message: Any, **more: Any) -> RawBody:
    return RawBody({"choices": [{"message": message, "finish_reason": "stop"}], **more})


def test_a_name_without_a_provider_goes_out_as_it_is(provider: StubProvider, loop: asyncio.AbstractEventLoop) -> None:
    provider.play(says("Yes."), says("Yes."))

    for name in ("mine", "meta-llama/llama-3"):
        loop.run_until_complete(
            OpenAIModel(name, api_key=lambda: API_KEY, base_url=provider.openai).generate(hello_request())
        )

    assert [request.body["model"] for request in provider.requests] == ["mine", "meta-llama/llama-3"]


def test_the_key_of_the_environment_is_taken_where_there_is_no_other(
    provider: StubProvider, loop: asyncio.AbstractEventLoop, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-the-environment")
    provider.play(says("Yes."))

    loop.run_until_complete(OpenAIModel("openai/gpt-4o", base_url=provider.openai).generate(hello_request()))

    assert provider.requests[0].headers["authorization"] == "Bearer sk-of-the-environment"


@pytest.mark.parametrize(
    "message",
    [
        {"content": [{"type": "thinking", "thinking": "Hm."}, {"type": "text", "text": "In France."}]},
        {"content": "In France.", "tool_calls": None, "reasoning_content": "Hm."},
        {"content": "In France.", "tool_calls": []},
    ],
)
def test_text_comes_out_whatever_form_a_server_gives_it(
    message: Any, provider: StubProvider, model: OpenAIModel, loop: asyncio.AbstractEventLoop
) -> None:
    provider.play(_answer(message, usage=None))

    assert loop.run_until_complete(model.generate(hello_request())).text == "In France."


def test_arguments_that_come_as_an_object_are_written_as_one(
    provider: StubProvider, model: OpenAIModel, loop: asyncio.AbstractEventLoop
) -> None:
    call = {"id": "c1", "function": {"name": "look", "arguments": {"at": "é"}}}
    provider.play(_answer({"content": None, "tool_calls": [call]}))

    assert loop.run_until_complete(model.generate(hello_request(tools=(LOOK_TOOL,)))).tool_calls == (
        ToolCall("c1", "look", '{"at": "é"}'),
    )


ODD: list[Any] = [[], "no", None, {"choices": {}}, {"choices": [None]}, {"choices": [{"message": None}]},
                  {"choices": [{"message": {"tool_calls": ["x"]}}]}, {"choices": [{"message": {"content": [1]}}]},
                  {"choices": [{"message": {"content": "x"}}], "usage": [1]}]  # fmt: skip


@pytest.mark.parametrize("shape", ODD, ids=str)
def test_a_response_that_cannot_be_read_means_unavailable(
    shape: Any, provider: StubProvider, model: OpenAIModel, ask_streaming: AskStreaming, loop: asyncio.AbstractEventLoop
) -> None:
    provider.play(RawBody(shape), RawBody(shape))

    with pytest.raises(ModelUnavailable):
        loop.run_until_complete(model.generate(hello_request()))
    with pytest.raises(ModelUnavailable):
        ask_streaming(model, hello_request())
    assert not asyncio.all_tasks(loop)


@pytest.mark.parametrize("delta", [{"tool_calls": ["x"]}, {"content": [1]}, {"tool_calls": {"a": 1}}], ids=str)
def test_a_piece_of_a_stream_that_cannot_be_read_means_unavailable(
    delta: Any, provider: StubProvider, model: OpenAIModel, ask_streaming: AskStreaming, loop: asyncio.AbstractEventLoop
) -> None:
    provider.play(Deltas(({"content": "In "}, delta)))

    with pytest.raises(ModelUnavailable):
        ask_streaming(model, hello_request())
    assert not asyncio.all_tasks(loop)


def test_a_connection_that_stays_open_after_the_answer_does_not_hold_it_up(
    provider: StubProvider, model: OpenAIModel, ask_streaming: AskStreaming
) -> None:
    whole = says("In France.")
    provider.play(BrokenStream(whole, 100, "hang"), says("next"))

    assert ask_streaming(model, hello_request(timeout=5.0))[1].text == "In France."
    assert ask_streaming(model, hello_request(timeout=5.0))[1].text == "next"


def test_a_stream_without_a_finish_reason_is_whole_where_it_says_that_it_is_done(
    provider: StubProvider, model: OpenAIModel, ask_streaming: AskStreaming
) -> None:
    provider.play(Deltas(({"content": "In France."},), finish=None))

    assert ask_streaming(model, hello_request())[1].finish_reason == "stop"


@pytest.mark.parametrize("streamed", [False, True])
def test_unsupported_options_are_left_out_from_then_on(
    streamed: bool,
    provider: StubProvider,
    model: OpenAIModel,
    ask_streaming: AskStreaming,
    loop: asyncio.AbstractEventLoop,
) -> None:
    provider.play(
        fails(400, "Unsupported parameter: 'max_tokens' is not supported. Use 'max_completion_tokens' instead."),
        fails(400, "Unsupported value: 'temperature' does not support 0.2 with this model."),
        says("Yes."),
        says("And again."),
    )

    for _ in range(2):
        _ = ask_streaming(model, COOL) if streamed else loop.run_until_complete(model.generate(COOL))

    options = [request.body for request in provider.requests]
    assert [body.get("max_tokens") for body in options] == [50, None, None, None]
    assert [body.get("max_completion_tokens") for body in options] == [None, 50, 50, 50]
    assert ["temperature" in body for body in options] == [True, True, False, False]


def test_a_rejected_value_does_not_make_the_option_unsupported(
    provider: StubProvider, model: OpenAIModel, loop: asyncio.AbstractEventLoop
) -> None:
    provider.play(fails(400, "temperature must be at most 2"))

    with pytest.raises(ModelRequestRejected, match="sampling option"):
        loop.run_until_complete(model.generate(COOL))

    assert len(provider.requests) == 1


def test_ids_that_hold_another_providers_signature_are_made_shorter(
    provider: StubProvider, model: OpenAIModel, loop: asyncio.AbstractEventLoop
) -> None:
    """litellm keeps Gemini's signatures in them, and a task may continue with another model."""
    provider.play(says("Yes."))

    loop.run_until_complete(model.generate(request_with_calls(ToolCall("c1__thought__" + "x" * 500, "look", "{}"))))

    assistant, result = provider.requests[0].body["messages"][2:]
    assert len(assistant["tool_calls"][0]["id"]) <= 40
    assert assistant["tool_calls"][0]["id"] == result["tool_call_id"]
    assert set(result) == {"role", "tool_call_id", "content"}


def test_an_error_in_a_stream_that_is_only_a_text_means_unavailable(
    provider: StubProvider, model: OpenAIModel, loop: asyncio.AbstractEventLoop
) -> None:
    provider.play(RawBody({"error": "overloaded"}))

    with pytest.raises(ModelError):
        loop.run_until_complete(model.generate(hello_request()))


def test_each_event_loop_has_its_own_connections(provider: StubProvider) -> None:
    model = OpenAIModel("mine", api_key=lambda: API_KEY, base_url=provider.openai)
    provider.play(says("one"), says("two"))
    from agentfn.models.providers import http_client

    for _ in range(2):
        with asyncio.Runner() as runner:
            assert runner.run(model.generate(hello_request())).usage == Usage(11, 7, 0, None)
            runner.run(http_client.close_clients())

    assert len({request.port for request in provider.requests}) == 2
