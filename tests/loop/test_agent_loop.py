"""What a loop tells while it plays, and what comes of it."""

import asyncio
import copy
import json
import pickle
from typing import Any

import pytest

from agentfn.errors import ModelRequestRejected
from agentfn.loop import (
    LoopFinished,
    LoopResult,
    ModelTurn,
    Notice,
    Progress,
    StepStarted,
    ToolCallStarted,
    ToolsFinished,
)
from agentfn.models import ModelResponse, ToolCall, Turn, Usage
from agentfn.testing import ScriptedModel, calls, pause
from loop.loop_harness import HELLO, check_transcript, tool_results


def test_events_come_in_order_and_their_turns_make_up_the_transcript(player: Any) -> None:
    model = ScriptedModel((calls("look", at="x"), calls("draw")), "Done.")
    events = player.events_of(model)
    kinds = [event.kind for event in events if event.kind != "progress"]
    assert kinds[:4] == ["step_started", "model_turn", "tool_called", "tool_called"]
    assert set(kinds[4:-3]) == {"tools_finished"}
    assert kinds[-3:] == ["step_started", "model_turn", "final"]
    assert [event.step for event in events if isinstance(event, StepStarted)] == [1, 2]
    assert [event.text for event in events if isinstance(event, Progress)] == ["drawing a.svg"]
    turns = [HELLO, *(turn for event in events for turn in event.turns)]
    assert sorted(turns, key=str) == sorted(events[-1].result.transcript, key=str)


def test_what_must_be_saved_at_once_says_so(player: Any) -> None:
    events = player.events_of(ScriptedModel(calls("report_progress", text="x"), calls("look"), "Done."))
    urgent = [(event.kind, event.step) for event in events if event.urgent]
    assert urgent == [("model_turn", 2), ("tools_finished", 2)]
    assert all(isinstance(event, ModelTurn | ToolsFinished) for event in events if event.turns)
    assert all(event.urgent for event in events if isinstance(event, ToolsFinished) and event.ran)


def test_a_turn_is_told_before_its_tools_start(player: Any, shop: Any) -> None:
    async def first_turn() -> list[str]:
        playing = player.make_loop(ScriptedModel(calls("book", seat=1), "Done.")).run_stream((HELLO,))
        async for event in playing:
            if isinstance(event, ModelTurn):
                await asyncio.sleep(0.05)
                await playing.aclose()
        return list(shop.effects)

    assert asyncio.run(first_turn()) == []


def test_who_stops_listening_leaves_nothing_running(player: Any, shop: Any) -> None:
    async def stop_at(kind: type) -> int:
        playing = player.make_loop(
            ScriptedModel((calls("nap", seconds=5), calls("nap", seconds=6)), "Done.")
        ).run_stream((HELLO,))
        async for event in playing:
            if isinstance(event, kind):
                await asyncio.sleep(0.05)
                break
        await playing.aclose()
        return len(asyncio.all_tasks()) - 1

    for kind in (StepStarted, ModelTurn, ToolCallStarted):
        assert asyncio.run(stop_at(kind)) == 0
    assert shop.effects == []


def test_a_result_says_how_it_came_about(player: Any) -> None:
    usage = [Usage(100, 10, 40, 0.5), Usage(200, 20, 0, None)]
    model = ScriptedModel(
        ModelResponse("Let me see.", (ToolCall("a", "look", '{"at": "x"}'), ToolCall("b", "book", "{}")), usage[0]),
        pause(3),
        ModelResponse("Done.", usage=usage[1]),
    )
    result = player.run(model)
    assert (result.status, str(result), result.finish_reason, result.total_steps) == ("completed", "Done.", "answer", 2)
    assert (
        result.usage.prompt_tokens,
        result.usage.completion_tokens,
        result.usage.cached_tokens,
        result.usage.uncached_tokens,
    ) == (
        300,
        30,
        40,
        260,
    )
    assert (result.usage.total_tokens, result.usage.cost) == (330, 0.5)
    first, second = result.steps
    assert (first.index, first.text, second.text, second.calls) == (1, "Let me see.", "Done.", ())
    look, book = first.calls
    assert (look.name, look.arguments, look.result, look.is_error) == ("look", '{"at": "x"}', "saw x", False)
    assert (book.is_error, json.loads(book.result)["error_type"]) == (True, "invalid_arguments")
    assert look.seconds is not None
    assert result.seconds == 3


def test_a_result_can_be_kept_copied_and_sent(player: Any) -> None:
    result = player.run(ScriptedModel(calls("draw"), ModelResponse("Done.", usage=Usage(1, 2))))
    assert pickle.loads(pickle.dumps(result)) == copy.deepcopy(result) == result
    assert json.loads(json.dumps(result.to_json()))["files"][0]["name"] == "a.svg"
    assert isinstance(result, LoopResult)
    assert str(LoopResult("failed", "Why.")) == f"{result.__class__('failed', 'Why.')}" == "Why."


def test_files_and_links_are_produced_and_told_to_the_model(player: Any, desk: Any) -> None:
    url = "https://files.example.com/q1.pdf"
    given = json.dumps({"download_url": url, "filename": "q1.pdf", "media_type": "application/pdf"})
    model = ScriptedModel((calls("draw"), calls("give", text=given)), "Done.")
    result = player.run(model)
    assert sorted(info.name for info in result.files) == ["a.svg", "q1.pdf"]
    drawn, linked = tool_results(result)
    assert drawn == "drawn\nProduced files:\n- a.svg (image/svg+xml, 6 bytes)"
    assert linked == f"{given}\nProduced files:\n- q1.pdf (application/pdf, at {url})"
    assert desk.records["q1.pdf"][0].url == url


@pytest.mark.parametrize("text", ["", "  ", "\n"])
def test_a_result_is_never_empty(player: Any, text: str) -> None:
    assert tool_results(player.run(ScriptedModel(calls("give", text=text), "Done."))) == ["(no output)"]


def test_a_long_result_is_cut_and_kept_whole(player: Any, desk: Any) -> None:
    result = player.run(ScriptedModel(calls("give", text="é" * 1000), "Done."), limits={"max_output_chars": 100})
    [text] = tool_results(result)
    assert text.startswith("é" * 100 + "\n… (900 of 1,000 characters are missing; the whole is in output-")
    [(record, content)] = desk.records.values()
    assert (record.origin, content.decode()) == ("hidden", "é" * 1000)
    assert result.files == ()


def test_half_characters_do_not_get_into_the_transcript(player: Any) -> None:
    model = ScriptedModel(
        ModelResponse(
            "a\ud83d", (ToolCall("x", "give", '{"text": "\\udcff"}'), ToolCall("y\ud83d", "give", '{"text": "\ud83d"}'))
        ),
        calls("finish", text="done \ud83d"),
    )
    result = player.run(model)
    json.dumps([turn.to_json() for turn in result.transcript], ensure_ascii=False).encode()
    assert result.text == "done ?"
    assert tool_results(result)[:2] == ["?", "?"]


def test_any_script_comes_through_unharmed(player: Any) -> None:
    text = "日本 😀 ‮ \u0000 ﷽ é"
    model = ScriptedModel(calls("give", text=text), text)
    result = player.run(model, Turn("user", text))
    assert (result.text, tool_results(result)) == (text, [text])


def test_ids_that_a_model_gives_twice_are_told_apart(player: Any, shop: Any) -> None:
    same = ToolCall("call_1", "look", '{"at": "a"}')
    model = ScriptedModel(
        (same, ToolCall("call_1", "look", '{"at": "b"}'), ToolCall("", "look", '{"at": "c"}')),
        ModelResponse(tool_calls=(same,)),
        "Done.",
    )
    result = player.run(model)
    check_transcript(result.transcript)
    assert tool_results(result) == ["saw a", "saw b", "saw c", "saw a"]


def test_a_tool_call_is_forced_on_the_first_step_of_a_fresh_talk_and_never_else(player: Any) -> None:
    model = ScriptedModel(calls("look"), "Done.")
    player.events_of(model, force_first_tool=True)
    assert [prompt.tool_choice for prompt in model.requests] == ["required", "auto"]
    remembered = (HELLO, Turn("assistant", "Hello."), Turn("user", "again"))
    model = ScriptedModel("Done.")
    player.events_of(model, *remembered, force_first_tool=True)
    assert model.requests[0].tool_choice == "required"
    talk = (HELLO, Turn("assistant", "Hello.", usage=Usage(1, 1)), Turn("user", "again"))
    model = ScriptedModel("Done.")
    player.events_of(model, *talk, force_first_tool=True)
    assert model.requests[0].tool_choice == "auto"
    model = ScriptedModel("Done.")
    player.events_of(model)
    assert model.requests[0].tool_choice == "auto"


def test_what_a_model_refuses_for_good_ends_the_task_at_once_and_says_why(player: Any) -> None:
    model = ScriptedModel(ModelRequestRejected("model x: no such key"), "Never said.")
    result = player.run(model)
    assert (result.status, result.text, result.finish_reason) == ("failed", "model x: no such key", "model_error")
    assert len(model.requests) == 1


def test_an_empty_answer_is_asked_for_again_and_remarked_on(player: Any) -> None:
    model = ScriptedModel(
        ModelResponse("", usage=Usage(10, 1)),
        ModelResponse(" \n", usage=Usage(10, 2)),
        ModelResponse(""),
        "Never said.",
    )
    events = player.events_of(model)
    assert ["Your reply was empty" in event.text for event in events if isinstance(event, Notice)] == [True] * 2
    assert model.requests[1].turns[-1].text.startswith("Your reply was empty")
    final = events[-1]
    assert isinstance(final, LoopFinished)
    assert (final.result.status, final.result.finish_reason) == ("failed", "empty_answer")
    assert (final.result.usage.total_tokens, len(final.result.transcript)) == (23, 2)


def test_steps_and_usage_count_from_the_users_last_word(player: Any) -> None:
    before = (HELLO, Turn("assistant", "Hello.", usage=Usage(5, 5)), Turn("user", "again"))
    result = player.run(ScriptedModel(ModelResponse("Done.", usage=Usage(1, 1))), *before)
    assert (result.total_steps, result.usage.total_tokens, len(result.transcript)) == (1, 2, 4)
