"""Models that misbehave, each with the end that it comes to. Where it makes sense, in both protocols."""

import asyncio
import itertools
import json
from collections import Counter
from typing import Any

import pytest

from agentfn import Deadline, tool
from agentfn.errors import ModelRequestRejected, ModelUnavailable
from agentfn.loop import AgentLoop, LoopEvent, LoopLimits, ModelTurn, Notice, TextDelta
from agentfn.loop.loop_limits import RetryPolicy
from agentfn.models import Model, ModelRequest, ModelResponse, ToolCall, Turn, Usage
from agentfn.models.openai_format import chat_messages
from agentfn.models.providers.litellm_internals import load_litellm
from agentfn.testing import ScriptedModel, calls, stream
from agentfn.tools import ToolRegistry
from loop.bad_models import (
    LONE_SURROGATE,
    ODD_IDS,
    ODD_NAMES,
    ODD_TEXTS,
    ProtocolSpeaker,
    endless_model,
    is_closing,
    json_action,
)
from loop.loop_harness import HELLO, check_transcript, tool_results
from provider_stubs.request_rules import request_faults

BLANKS = {"nothing": "", "blanks": "  ", "line breaks": "\n\r\n", "a tab and a hard space": "\t\u00a0"}


@pytest.fixture(params=["native", "json"])
def tongue(request: Any) -> ProtocolSpeaker:
    return ProtocolSpeaker(request.param)


def kinds(result: Any) -> list[str]:
    """Of each result that the model got: the kind of its mistake, or its first line."""
    return [
        json.loads(text)["error_type"] if text.startswith("{") else text.split("\n")[0] for text in tool_results(result)
    ]


def sendable(result: Any) -> None:
    """No halves of characters: they can neither be stored nor sent."""
    json.dumps([turn.to_json() for turn in result.transcript], ensure_ascii=False).encode()
    result.text.encode()


# Replies that say nothing


@pytest.mark.parametrize("blank", BLANKS.values(), ids=BLANKS.keys())
def test_a_model_that_says_nothing_is_asked_three_times_and_fails_with_words(
    player: Any, tongue: ProtocolSpeaker, blank: str
) -> None:
    model = ScriptedModel(blank, blank, blank, "Never said.")
    result = player.run(model, tool_protocol=tongue.protocol)
    assert (result.status, result.finish_reason, len(model.requests)) == ("failed", "empty_answer", 3)
    assert "empty answer" in result.text


def test_a_model_that_says_nothing_now_and_then_loses_nothing(player: Any, shop: Any, tongue: ProtocolSpeaker) -> None:
    model = ScriptedModel("", tongue.call("look", '{"at": "x"}'), " ", "", tongue.answer("Done."))
    result = player.run(model, tool_protocol=tongue.protocol)
    assert (result.text, result.total_steps, shop.effects) == ("Done.", 2, ["look x"])


@pytest.mark.parametrize("blank", BLANKS.values(), ids=BLANKS.keys())
def test_an_empty_closing_reply_fails_with_words(player: Any, tongue: ProtocolSpeaker, blank: str) -> None:
    model = ScriptedModel(tongue.call("look"), blank, blank, blank, "Never said.")
    result = player.run(model, tool_protocol=tongue.protocol, steps=1)
    assert (result.status, result.finish_reason, len(model.requests)) == ("failed", "empty_answer", 4)
    assert "empty answer" in result.text


EMPTY_ENDINGS = [
    calls("finish", text=" "),
    calls("ask_user", question=""),
    calls("reject_task", reason="\n"),
    calls("request_auth", scheme="", message=""),
]


@pytest.mark.parametrize("ending", EMPTY_ENDINGS, ids=lambda call: call.name)
def test_an_end_without_words_is_no_end(player: Any, tongue: ProtocolSpeaker, ending: ToolCall) -> None:
    model = ScriptedModel(tongue.call(ending.name, ending.arguments), tongue.answer("Done."))
    assert player.run(model, tool_protocol=tongue.protocol).text == "Done."


def test_a_model_that_is_down_without_a_word_is_named_by_its_trouble(player: Any) -> None:
    result = player.run(ScriptedModel(ModelRequestRejected("")))
    assert result.status == "failed"
    assert result.text.strip()


# Ids, names and arguments


def test_calls_get_ids_of_their_own_whatever_the_model_wrote(player: Any, shop: Any) -> None:
    def turn(at: str) -> ModelResponse:
        written = (ToolCall(call_id, "look", f'{{"at": "{at}{n}"}}') for n, call_id in enumerate([*ODD_IDS, *ODD_IDS]))
        return ModelResponse(tool_calls=tuple(written), finish_reason="tool_calls")

    result = player.run(ScriptedModel(turn("a"), turn("b"), "Done."))
    check_transcript(result.transcript)
    sendable(result)
    assert tool_results(result) == [f"saw {at}{n}" for at in "ab" for n in range(2 * len(ODD_IDS))]


def test_actions_get_ids_too(player: Any) -> None:
    model = ScriptedModel(
        *(json_action("look", f'{{"at": {n}}}') for n in range(3)), json_action("final_answer", '"Done."')
    )
    result = player.run(model, tool_protocol="json")
    assert len({call.id for turn in result.transcript for call in turn.tool_calls}) == 3


@pytest.mark.parametrize("name", ODD_NAMES, ids=range(len(ODD_NAMES)))
def test_a_name_that_is_no_tools_is_answered_with_the_names_of_all(
    player: Any, tongue: ProtocolSpeaker, name: str
) -> None:
    model = ScriptedModel(tongue.call(name), tongue.answer("Done."))
    result = player.run(model, tool_protocol=tongue.protocol)
    assert (result.text, kinds(result)) == ("Done.", ["unknown_tool"])
    assert "there are: look, book," in tool_results(result)[0]
    sendable(result)


# By what the arguments are: what the model is told of a native call, and of an action ("" where it holds none).
ARGUMENTS: dict[str, tuple[str, str, str]] = {
    "a list": ("[1]", "not_an_object", "not_an_object"),
    "a number": ("7", "not_an_object", "not_an_object"),
    "a string": ('"x"', "invalid_json", "invalid_json"),
    "a string of JSON": ('"{\\"at\\": \\"x\\"}"', "saw x", "saw x"),
    "a word": ("x", "invalid_json", ""),
    "cut short": ('{"at": "x', "invalid_json", ""),
    "null": ("null", "saw ", "saw "),
    "blanks": (" \n", "saw ", ""),
    "nothing": ("", "saw ", ""),
    "NaN": ('{"at": NaN}', "invalid_json", "invalid_json"),
    "more than infinite": ('{"at": 1e999}', "invalid_json", "invalid_json"),
    "a very long number": ('{"at": ' + "9" * 5_000 + "}", "invalid_json", ""),
    "very deep": ('{"at": ' + "[" * 50_000 + "]" * 50_000 + "}", "invalid_json", ""),
    "5 MB": ('{"at": "' + "x" * 5_000_000 + '"}', "too_long", ""),
    "of another type": ('{"at": 7}', "invalid_arguments", "invalid_arguments"),
    "unknown": ('{"around": "x"}', "invalid_arguments", "invalid_arguments"),
    "half a character": (f'{{"at": "{LONE_SURROGATE}"}}', "saw ?", "saw ?"),
    "an escaped half": ('{"at": "\\ud83d"}', "saw ?", "saw ?"),
    "a zero": ('{"at": "\\u0000"}', "saw \x00", "saw \x00"),
}


@pytest.mark.parametrize(("arguments", "native", "acted"), ARGUMENTS.values(), ids=ARGUMENTS.keys())
def test_arguments_are_read_or_the_model_is_told_what_is_wrong(
    player: Any, tongue: ProtocolSpeaker, arguments: str, native: str, acted: str
) -> None:
    events = player.events_of(
        ScriptedModel(tongue.call("look", arguments), tongue.answer("Done.")), tool_protocol=tongue.protocol
    )
    result = events[-1].result
    outcome = native if tongue.native else acted
    assert (result.text, kinds(result)) == ("Done.", [outcome] if outcome else [])
    assert any(isinstance(event, Notice) for event in events) == (not outcome)
    sendable(result)


@pytest.mark.parametrize("depth", [50, 5_000])
def test_arguments_however_deep_go_through_every_door(player: Any, tongue: ProtocolSpeaker, depth: int) -> None:
    """A tool that takes anything and needs the user's word: its arguments are read, shown, and told again."""

    @tool(requires_approval=True)
    def pay(what: Any) -> str:
        """Pays."""
        return "paid"

    deep = '{"what": ' + "[" * depth + "]" * depth + "}"
    model = ScriptedModel(tongue.call("pay", deep), tongue.answer("Done."))
    asked = player.run(model, tool_protocol=tongue.protocol, tools=ToolRegistry([pay]))
    assert asked.status == "input_required"
    assert len(asked.text) < 200_000
    yes = Turn("user", "yes")
    result = player.run(model, *asked.transcript, yes, tool_protocol=tongue.protocol, tools=ToolRegistry([pay]))
    assert (result.text, kinds(result)) == ("Done.", ["paid"])


@pytest.mark.timeout(15)
@pytest.mark.parametrize("text", ['{\\"tool\\": \\"look\\", ' * 10_000, '{"' * 100_000, "{" * 400_000])
def test_a_long_reply_of_broken_json_is_no_standstill(player: Any, text: str) -> None:
    model = ScriptedModel(text, json_action("final_answer", '"Done."'))
    assert player.run(model, tool_protocol="json").text == "Done."


@pytest.mark.parametrize("provider", ["anthropic", "bedrock"])
def test_every_provider_takes_the_transcript_of_a_bad_model(player: Any, provider: str) -> None:
    """As litellm puts it to them. OpenAI's own form is checked with every prompt of these tests."""
    written = [ToolCall(call_id, name, "[1") for call_id, name in zip(ODD_IDS, ODD_NAMES, strict=False)]
    model = ScriptedModel(
        ModelResponse(" ", tuple(written)),
        *(ModelResponse(text, (calls("look"), calls("nothing"))) for text in ODD_TEXTS),
        "Done.",
    )
    player.run(model)
    for prompt in model.requests:
        assert request_faults(provider, put_to(provider, prompt)) == []  # type: ignore[arg-type]


def put_to(provider: str, prompt: ModelRequest) -> Any:
    load_litellm()
    from litellm.llms.anthropic.chat.transformation import AnthropicConfig
    from litellm.llms.bedrock.chat.converse_transformation import AmazonConverseConfig

    config, name = (
        (AnthropicConfig(), "claude-sonnet-4-5")
        if provider == "anthropic"
        else (AmazonConverseConfig(), "anthropic.claude-3-5-sonnet-20240620-v1:0")
    )
    options = config.map_openai_params({"tools": list(prompt.tools), "max_tokens": 100}, {}, name, True)
    chat: Any = chat_messages(prompt)
    return config.transform_request(name, chat, options, {}, {})


# Too many calls


def test_fifty_calls_of_one_turn_run_a_few_at_a_time(player: Any, shop: Any) -> None:
    many = tuple(calls("nap", seconds=0.01, name=str(n)) for n in range(50))
    result = player.run(ScriptedModel(many, "Done."), limits={"max_parallel_calls": 4})
    assert (shop.max_parallel, tool_results(result)) == (4, [f"slept {n}" for n in range(50)])


def test_of_fifty_actions_in_one_reply_the_first_is_done(player: Any, shop: Any) -> None:
    many = "\n".join(json_action("book", f'{{"seat": {n}}}') for n in range(50))
    player.run(ScriptedModel(many, json_action("final_answer", '"Done."')), tool_protocol="json")
    assert shop.effects == ["book 0"]


def test_the_same_call_for_ever_is_remarked_on_and_then_not_run_any_more(
    player: Any, shop: Any, tongue: ProtocolSpeaker
) -> None:
    again = tongue.call("book", '{"seat": 1}')
    model = endless_model(itertools.repeat(again), closing=tongue.answer("As far as I got."))
    result = player.run(model, tool_protocol=tongue.protocol, steps=12)
    assert (result.status, result.finish_reason, len(model.requests)) == ("completed", "max_steps", 13)
    runs = 6 if tongue.native else 1
    assert shop.effects == ["book 1"] * runs
    assert kinds(result) == ["booked 1"] * runs + ["repeated"] * (12 - runs)
    remarks = ["will not help" in text for text in tool_results(result)]
    assert remarks == [2 <= n < runs for n in range(12)]


def test_the_same_call_fifty_times_in_one_turn_is_run_no_oftener(player: Any, shop: Any) -> None:
    result = player.run(ScriptedModel((calls("book", seat=1),) * 50, "Done."))
    assert (len(shop.effects), Counter(kinds(result))["repeated"]) == (6, 44)


def test_two_calls_in_turns_for_ever_end_at_the_limit_with_one_closing_call(
    player: Any, tongue: ProtocolSpeaker
) -> None:
    pair = [tongue.call("look", '{"at": "a"}'), tongue.call("look", '{"at": "b"}')]
    model = endless_model(itertools.cycle(pair), closing=tongue.answer("As far as I got."))
    result = player.run(model, tool_protocol=tongue.protocol, steps=7)
    assert (result.text, result.finish_reason, result.partial) == ("As far as I got.", "max_steps", True)
    assert [is_closing(prompt) for prompt in model.requests] == [False] * 7 + [True]
    assert model.requests[-1].tools == model.requests[0].tools
    assert "look" in f"{model.requests[-1].tools}{model.requests[-1].system}"


def test_progress_for_ever_ends_at_the_limit(player: Any, tongue: ProtocolSpeaker) -> None:
    again = tongue.call("report_progress", '{"text": "On it."}')
    model = endless_model(itertools.repeat(again), closing=tongue.answer("As far as I got."))
    result = player.run(model, tool_protocol=tongue.protocol, steps=5)
    assert (result.finish_reason, result.progress, len(model.requests)) == ("max_steps", ("On it.",) * 5, 6)


# The last word


CLOSINGS: dict[str, tuple[str, ModelResponse, str]] = {
    "a call": ("native", ModelResponse(tool_calls=(calls("book", seat=1),), finish_reason="tool_calls"), ""),
    "text and a call": (
        "native",
        ModelResponse("Paris.", (calls("book", seat=1),), finish_reason="tool_calls"),
        "Paris.",
    ),
    "a finish": (
        "native",
        ModelResponse(tool_calls=(calls("finish", text="Paris."),), finish_reason="tool_calls"),
        "Paris.",
    ),
    "a finish without text": ("native", ModelResponse(tool_calls=(calls("finish"),), finish_reason="tool_calls"), ""),
    "an action": ("json", ModelResponse(json_action("book", '{"seat": 1}', "Paris.")), "Paris."),
    "an answer": ("json", ModelResponse(json_action("final_answer", '"Paris."')), "Paris."),
    "an empty answer": ("json", ModelResponse(json_action("final_answer", '""', "Paris.")), "Paris."),
    "a native call to a loop of actions": ("json", ModelResponse("Paris.", (calls("book", seat=1),)), "Paris."),
    "a native call without a word": ("json", ModelResponse(tool_calls=(calls("book", seat=1),)), ""),
    "an answer with files": (
        "json",
        ModelResponse(json_action("final_answer", '{"text": "Paris.", "files": ["no.svg"]}')),
        "Paris.",
    ),
}


@pytest.mark.parametrize("how", ["of steps", "of time"])
@pytest.mark.parametrize(("protocol", "closing", "text"), CLOSINGS.values(), ids=CLOSINGS.keys())
def test_a_closing_reply_runs_nothing_and_is_the_last(
    player: Any, shop: Any, protocol: str, closing: ModelResponse, text: str, how: str
) -> None:
    tongue = ProtocolSpeaker(protocol)
    model = endless_model(itertools.repeat(tongue.call("look")), closing=closing)
    passing = {"deadline": Deadline(at=100.0, clock=lambda: 90.0 if model.requests else 0.0), "can_suspend": False}
    limit = {"steps": 1} if how == "of steps" else passing
    result = player.run(model, tool_protocol=protocol, **limit)
    reason = "max_steps" if how == "of steps" else "out_of_time"
    expected = ("completed", text, reason) if text else ("failed", result.text, "empty_answer")
    assert (result.status, result.text, result.finish_reason) == expected
    assert result.text.strip()
    assert shop.effects == ["look "][: how == "of steps"]
    assert result.total_steps == 2


def test_a_transcript_that_ends_in_an_answer_is_not_asked_about_again(player: Any, tongue: ProtocolSpeaker) -> None:
    model = ScriptedModel(tongue.answer("Done."), tongue.call("book", '{"seat": 1}'))
    answered = player.run(model, tool_protocol=tongue.protocol)
    again = player.run(model, *answered.transcript, tool_protocol=tongue.protocol)
    assert (again.status, again.text, len(model.requests)) == ("completed", "Done.", 1)


def test_a_filtered_answer_stays_one_when_it_is_read_again(player: Any) -> None:
    model = ScriptedModel(ModelResponse("As I was sa", finish_reason="content_filter"))
    first = player.run(model)
    again = player.run(model, *first.transcript)
    assert (first.status, again.status, again.finish_reason) == ("failed", "failed", "content_filter")


# What comes with the text


def test_text_and_calls_together_are_both_kept(player: Any, shop: Any, tongue: ProtocolSpeaker) -> None:
    model = ScriptedModel(tongue.call("look", '{"at": "x"}', text="Let me look."), tongue.answer("Done."))
    result = player.run(model, tool_protocol=tongue.protocol)
    assert (result.steps[0].text, shop.effects) == ("Let me look.", ["look x"])


def test_words_of_refusal_are_an_answer(player: Any, tongue: ProtocolSpeaker) -> None:
    model = ScriptedModel(*["I'm sorry, but I can't help with that."] * 3)
    result = player.run(model, tool_protocol=tongue.protocol)
    assert (result.status, result.text) == ("completed", "I'm sorry, but I can't help with that.")
    assert len(model.requests) == (1 if tongue.native else 3)


@pytest.mark.parametrize("text", ["As I was sa", "", " "])
def test_what_a_content_filter_stopped_failed(player: Any, tongue: ProtocolSpeaker, text: str) -> None:
    model = ScriptedModel(ModelResponse(text, finish_reason="content_filter"))
    result = player.run(model, tool_protocol=tongue.protocol)
    assert (result.status, result.finish_reason, len(model.requests)) == ("failed", "content_filter", 1)
    assert result.text == text if text.strip() else "content filter" in result.text


CUTS = [
    ((ToolCall("", "book", '{"seat": 1'),), [], ["truncated"]),
    ((ToolCall("", "book", '{"seat": 1}'),), [], ["truncated"]),
    (
        (calls("look", at="a"), calls("book", seat=1), ToolCall("", "bo", "")),
        ["book 1", "look a"],
        ["saw a", "booked 1"],
    ),
    ((ToolCall("", "finish", '{"text": "I am'),), [], ["truncated"]),
    ((ToolCall("", "", ""),), [], ["truncated"]),
]


@pytest.mark.parametrize(("written", "done", "results"), CUTS)
def test_of_calls_that_were_cut_off_the_whole_ones_are_run(
    player: Any, shop: Any, written: tuple[ToolCall, ...], done: list[str], results: list[str]
) -> None:
    model = ScriptedModel(ModelResponse("So", written, finish_reason="length"), "Done.")
    result = player.run(model)
    assert (result.text, sorted(shop.effects)) == ("Done.", done)
    assert kinds(result)[: len(results)] == results
    assert kinds(result)[-1] == "truncated"


def test_half_an_answer_is_partial(player: Any, tongue: ProtocolSpeaker) -> None:
    model = ScriptedModel(*[ModelResponse("As I was sa", finish_reason="length")] * 3)
    result = player.run(model, tool_protocol=tongue.protocol)
    assert (result.text, result.finish_reason, result.partial) == ("As I was sa", "length", True)


def test_half_an_action_is_never_done_and_no_answer(player: Any, shop: Any) -> None:
    half = ModelResponse('{"thought": "Now.", "tool": "book", "args": {"seat": 1', finish_reason="length")
    result = player.run(ScriptedModel(half, half, half), tool_protocol="json")
    assert (shop.effects, result.status) == ([], "failed")
    assert '"tool"' not in result.text


PROSE = {
    "Spanish": "¡Claro! Primero miro: {} y después respondo.",
    "Arabic": "حسنًا، سأنظر أولاً: {} ثم أجيب.",
    "Chinese": "好的，我先看一下：{}然后回答。",  # noqa: RUF001 - as it is written
}


@pytest.mark.parametrize("prose", PROSE.values(), ids=PROSE.keys())
def test_an_action_is_found_in_prose_of_any_script(player: Any, shop: Any, prose: str) -> None:
    said = [
        prose.replace("{}", json_action(name, args))
        for name, args in (("look", '{"at": "x"}'), ("final_answer", '"Sí."'))
    ]
    result = player.run(ScriptedModel(*said), tool_protocol="json")
    assert (result.text, shop.effects) == ("Sí.", ["look x"])


@pytest.mark.parametrize("text", ODD_TEXTS, ids=range(len(ODD_TEXTS)))
def test_any_letters_come_through_and_halves_of_letters_do_not(player: Any, tongue: ProtocolSpeaker, text: str) -> None:
    model = ScriptedModel(
        tongue.call("give", json.dumps({"text": text}, ensure_ascii=False), text=text), tongue.answer(text)
    )
    result = player.run(model, Turn("user", text.replace(LONE_SURROGATE, "?")), tool_protocol=tongue.protocol)
    whole = text.replace(LONE_SURROGATE, "?")
    assert (result.text, tool_results(result), result.steps[0].text) == (whole, [whole], whole)
    sendable(result)


# Streams


AWAY = ModelUnavailable("the stream broke off", retry_after=0.0)
ANSWERS: dict[str, tuple[list[Any], str]] = {
    "stops, and tells the same": ([stream("It ra", AWAY), stream("It ", "rains.")], "It rains."),
    "stops twice": ([stream("It rains and", AWAY), stream("It ", AWAY), stream("It snows.")], "It snows."),
    "repeats itself": ([stream("It ", "It ", "It rains.")], "It It It rains."),
    "comes out shorter": ([stream("It rains and rains", AWAY), stream("It rains")], "It rains"),
    "comes out as a call": (
        [stream("Let me", AWAY), ModelResponse(tool_calls=(calls("finish", text="Done."),))],
        "Done.",
    ),
    "has empty pieces": ([stream("", "It ", "", "rains.", "")], "It rains."),
    "has halves of characters": ([stream("a" + LONE_SURROGATE, "b")], "a?b"),
    "is cut between the halves of one": ([stream("a\ud83d", "\ude00")], "a??"),
    "says nothing": ([stream(""), stream("", ""), stream("Done.")], "Done."),
    "stops before it says anything": ([stream(AWAY), stream("Done.")], "Done."),
    "says blanks, then a call": ([ModelResponse("  ", (calls("finish", text="Done."),))], "Done."),
}


def screens(events: list[LoopEvent]) -> list[tuple[str, str]]:
    """Of each turn: what a reader has on his screen when it is told, and the turn's text."""
    screen, seen = "", []
    for event in events:
        if isinstance(event, TextDelta):
            assert event.offset <= len(screen)
            assert event.text or event.offset < len(screen), "nothing is told"
            assert event.text != screen[event.offset :], "the same is told twice"
            screen = screen[: event.offset] + event.text
        if isinstance(event, ModelTurn):
            seen.append((screen if screen.strip() else "", event.turn.text))
            screen = ""
    return seen


@pytest.mark.parametrize(("lines", "text"), ANSWERS.values(), ids=ANSWERS.keys())
def test_who_follows_a_stream_has_the_turn_on_his_screen_in_the_end(player: Any, lines: list[Any], text: str) -> None:
    events = player.events_of(ScriptedModel(*lines), stream=True)
    assert events[-1].result.text == text
    for screen, said in screens(events):
        assert screen == said


def test_a_stream_whose_words_are_not_its_reply_is_put_right(player: Any) -> None:
    class Forked(ScriptedModel):
        async def stream(self, prompt: ModelRequest) -> Any:
            yield "It rains"
            yield ModelResponse("It snows.")

    events = player.events_of(Forked(), stream=True)
    assert screens(events) == [("It snows.", "It snows.")]


def test_a_closing_answer_that_came_as_a_call_is_told_to_who_follows(player: Any) -> None:
    closing = ModelResponse(tool_calls=(calls("finish", text="Paris."),))
    events = player.events_of(endless_model(itertools.repeat(calls("look")), closing=closing), stream=True, steps=1)
    assert screens(events) == [("", ""), ("Paris.", "Paris.")]


@pytest.mark.parametrize("pieces", [(), ("It ",), ("It ", "rains.")])
def test_a_stream_that_never_gives_its_reply_is_given_up(player: Any, pieces: tuple[str, ...]) -> None:
    class Endless(ScriptedModel):
        async def stream(self, prompt: ModelRequest) -> Any:
            for piece in pieces:
                yield piece

    result = player.run(Endless(), stream=True, retries=1)
    assert (result.status, result.text) == ("failed", "scripted ended its stream without a reply")


# Lifecycle tools


MISUSED: list[tuple[list[ToolCall], str, str]] = [
    ([calls("finish", text="One."), calls("finish", text="Two.")], "completed", "One."),
    ([calls("finish", text="One.", files=["none.svg"]), calls("finish", text="Two.")], "completed", "Two."),
    ([calls("ask_user", question="Who?"), calls("finish", text="Two.")], "input_required", "Who?"),
    ([calls("finish", text="One.", mood="good"), calls("finish", text="Two.")], "completed", "Two."),
    ([calls("finish", text=["One."]), calls("ask_user", question="Who?")], "input_required", "Who?"),
    ([calls("Finish", text="One."), calls("reject_task", reason="No.")], "rejected", "No."),
    ([calls("finish", text="One.", files="a.svg"), calls("finish", text="Two.", files=None)], "completed", "Two."),
]


@pytest.mark.parametrize("together", [True, False], ids=["in one turn", "over turns"])
@pytest.mark.parametrize(("written", "status", "text"), MISUSED)
def test_the_first_lifecycle_call_that_fits_ends_the_task(
    player: Any, written: list[ToolCall], status: str, text: str, together: bool
) -> None:
    result = player.run(ScriptedModel(tuple(written)) if together else ScriptedModel(*written))
    assert (result.status, result.text) == (status, text)


USAGES = [Usage(), Usage(-5, -5), Usage(0, 0, 100, 0.0), Usage(5, 1, 9, -1.0), Usage(10**12, 10**12)]


@pytest.mark.parametrize("usage", USAGES, ids=str)
def test_a_loop_ends_whatever_its_model_counts(player: Any, tongue: ProtocolSpeaker, usage: Usage) -> None:
    looks = (tongue.call("look", f'{{"at": "{n}"}}', usage=usage) for n in itertools.count())
    model = endless_model(looks, closing=tongue.answer("As far as I got.", usage=usage))
    result = player.run(model, tool_protocol=tongue.protocol, steps=3)
    assert (result.finish_reason, result.usage.total_tokens) == ("max_steps", 4 * usage.total_tokens)


# Doors


class Door(Model):
    """A door of somebody else's: `once` is what it does at each question."""

    name = "door"

    def __init__(self, *once: Any) -> None:
        self.asked = 0
        self._once = once

    async def generate(self, prompt: ModelRequest) -> ModelResponse:
        self.asked += 1
        once = self._once[min(self.asked, len(self._once)) - 1]
        reply: ModelResponse = await once()
        return reply


async def never() -> ModelResponse:
    await asyncio.sleep(3_600)
    raise AssertionError("nobody waits that long")


async def broken() -> ModelResponse:
    raise ZeroDivisionError("a fault of the door's own")


async def timed_out() -> ModelResponse:
    raise TimeoutError


async def too_late() -> ModelResponse:
    try:
        return await never()
    except asyncio.CancelledError:
        return ModelResponse("Late, but here.")


async def fine() -> ModelResponse:
    return ModelResponse("Done.")


def ask_door(door: Door) -> Any:
    return asyncio.run(AgentLoop(door, limits=LoopLimits(retry_policy=RetryPolicy(0.1, max_retries=1))).run([HELLO]))


def test_an_error_that_is_no_models_is_a_fault_in_the_code_and_passes_through_the_loop() -> None:
    """`models/door.py` promises ModelError. Whoever runs a loop decides: the runner fails the task and logs it."""
    with pytest.raises(ZeroDivisionError, match="a fault of the door's own"):
        ask_door(Door(broken))


def test_a_door_that_times_out_by_itself_is_asked_again() -> None:
    assert ask_door(Door(timed_out, fine)).text == "Done."


def test_a_door_that_never_answers_is_given_up() -> None:
    door = Door(never)
    result = ask_door(door)
    assert (result.status, result.finish_reason, door.asked) == ("failed", "model_error", 2)
    assert "door did not answer within" in result.text


def test_an_answer_that_comes_after_its_time_is_taken_for_it_is_paid_for() -> None:
    door = Door(too_late)
    assert (ask_door(door).text, door.asked) == ("Late, but here.", 1)


def test_a_provider_that_asks_for_an_endless_rest_gets_an_end(player: Any) -> None:
    result = player.run(ScriptedModel(ModelUnavailable("away", retry_after=float("inf"))))
    assert (result.status, result.resume_in_seconds < 1e9) == ("suspended", True)
