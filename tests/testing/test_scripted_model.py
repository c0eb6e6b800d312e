import asyncio
import json
from collections.abc import Callable

import pytest

from agentfn.errors import ModelRequestRejected, ModelUnavailable
from agentfn.models import Model, ModelRequest, ModelResponse, ToolCall, Turn, Usage
from agentfn.testing.scripted_model import ScriptedAnswer, ScriptedModel, ScriptExhausted, calls, pause
from provider_stubs.clients import hello_request, request_with_calls

type Asked = Callable[[ScriptedModel, ModelRequest], ModelResponse]


@pytest.fixture
def ask() -> Asked:
    """Sends each request in a new event loop: the script does not depend on one."""

    def ask(model: ScriptedModel, prompt: ModelRequest) -> ModelResponse:
        with asyncio.Runner() as runner:
            return runner.run(model.generate(prompt))

    return ask


def test_a_script_is_played_line_by_line_and_the_requests_are_kept(ask: Asked) -> None:
    model: Model = ScriptedModel("one", "two")
    assert isinstance(model, ScriptedModel)

    assert [ask(model, hello_request("first")).text, ask(model, hello_request("second")).text] == ["one", "two"]
    assert [prompt.turns[0].text for prompt in model.requests] == ["first", "second"]
    assert (model.played_count, model.remaining) == (2, 0)


def test_a_call_is_played_with_an_id_that_says_where_it_was_made(ask: Asked) -> None:
    model = ScriptedModel(calls("look", at="Paris"), (calls("look", at="a"), calls("listen")))

    first = ask(model, hello_request())
    second = ask(model, request_with_calls(*first.tool_calls))

    assert first == ModelResponse(
        tool_calls=(ToolCall("call_1_1", "look", '{"at": "Paris"}'),), finish_reason="tool_calls"
    )
    assert [(call.id, call.name) for call in second.tool_calls] == [("call_2_1", "look"), ("call_2_2", "listen")]
    assert json.loads(second.tool_calls[1].arguments) == {}


def test_a_response_is_played_as_it_is_except_for_missing_ids(ask: Asked) -> None:
    broken = ModelResponse(
        "Hm.", (ToolCall("", "look", '{"at": "Par'), ToolCall("mine", "look", "{}")), Usage(3, 2), "length"
    )

    reply = ask(ScriptedModel(broken), hello_request())

    assert [call.id for call in reply.tool_calls] == ["call_1_1", "mine"]
    assert (reply.text, reply.usage, reply.finish_reason) == ("Hm.", Usage(3, 2), "length")


def test_an_exception_is_raised_once(ask: Asked) -> None:
    model = ScriptedModel(ModelUnavailable("busy", 3.0), "then so")

    with pytest.raises(ModelUnavailable, match="busy"):
        ask(model, hello_request())

    assert ask(model, hello_request()).text == "then so"


def test_a_function_answers_from_the_request_sync_or_async(ask: Asked) -> None:
    async def later(prompt: ModelRequest) -> ScriptedAnswer:
        await asyncio.sleep(0)
        return f"later: {prompt.turns[0].text}"

    model = ScriptedModel(lambda prompt: f"now: {prompt.turns[0].text}", later)

    assert [ask(model, hello_request("a")).text, ask(model, hello_request("b")).text] == ["now: a", "later: b"]


def test_an_exhausted_script_says_how_much_was_played(ask: Asked) -> None:
    model = ScriptedModel("one", "two", name="parrot")
    for _ in range(2):
        ask(model, hello_request())

    with pytest.raises(
        ScriptExhausted, match="the script of parrot is over: 2 played, one more was asked for"
    ) as caught:
        ask(model, hello_request())

    assert isinstance(caught.value, ModelRequestRejected)
    assert len(model.requests) == 3


def test_a_pause_past_the_timeout_means_unavailable_and_the_line_is_played_again(ask: Asked) -> None:
    model = ScriptedModel(pause(0.05), pause(0.05), "at last", "next")

    with pytest.raises(ModelUnavailable, match=r"did not answer within 0.01 s"):
        ask(model, hello_request(timeout=0.01))

    assert (model.played_count, model.remaining) == (0, 4)
    assert ask(model, hello_request()).text == "at last"
    assert ask(model, hello_request()).text == "next"


def test_a_line_that_was_cancelled_is_played_again(ask: Asked) -> None:
    model = ScriptedModel(pause(5), lambda _: "at last")

    async def cancelled() -> None:
        asking = asyncio.ensure_future(model.generate(hello_request()))
        await asyncio.sleep(0)
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking

    with asyncio.Runner() as runner:
        runner.run(cancelled())

    assert (model.played_count, model.remaining) == (0, 2)


def test_a_model_from_a_function_never_ends_and_depends_on_the_request_alone(ask: Asked) -> None:
    def answer(prompt: ModelRequest) -> ScriptedAnswer:
        return "done" if prompt.turns[-1].role == "tool" else calls("look")

    model = ScriptedModel.from_function(answer)

    for _ in range(2):
        assert ask(model, hello_request()).tool_calls == (ToolCall("call_1_1", "look", "{}"),)
        assert ask(model, request_with_calls(ToolCall("call_1_1", "look", "{}"))).text == "done"
    assert (model.played_count, model.remaining) == (4, 0)


def test_a_function_that_is_too_slow_means_unavailable(ask: Asked) -> None:
    async def slow(_: ModelRequest) -> ScriptedAnswer:
        await asyncio.sleep(5)
        return "never"

    model = ScriptedModel.from_function(slow)

    with pytest.raises(ModelUnavailable):
        ask(model, ModelRequest("", (Turn("user", "Hi"),), timeout=0.01))

    assert model.played_count == 0
