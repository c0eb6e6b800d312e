"""The calls of one turn."""

import json
import time
from typing import Any

import pytest

from agentfn.loop import ToolsFinished
from agentfn.models import ModelResponse, ToolCall
from agentfn.testing import ScriptedModel, calls
from agentfn.tools.execution import ConcurrencyLimiter
from loop.loop_harness import tool_results


def batches(events: Any) -> list[list[str]]:
    """Which results came together, by their tools' names and arguments."""
    return [
        [json.loads(result.call.arguments).get("name", result.call.name) for result in event.results]
        for event in events
        if isinstance(event, ToolsFinished)
    ]


def naps(**seconds: float) -> tuple[ToolCall, ...]:
    return tuple(calls("nap", seconds=length, name=name) for name, length in seconds.items())


@pytest.mark.usefixtures("no_waiting")
def test_calls_run_side_by_side_and_their_results_go_back_in_the_order_of_the_calls(player: Any, shop: Any) -> None:
    started = time.monotonic()
    result = player.run(ScriptedModel(naps(slow=0.3, middle=0.2, quick=0.0), "Done."))
    assert time.monotonic() - started < 0.6
    assert shop.effects == ["nap quick", "nap middle", "nap slow"]
    assert tool_results(result) == ["slept slow", "slept middle", "slept quick"]


@pytest.mark.usefixtures("no_waiting")
def test_results_that_come_together_are_saved_together(player: Any) -> None:
    events = player.events_of(ScriptedModel(naps(a=0.0, b=0.03, late=0.5), "Done."))
    assert batches(events) == [["a", "b"], ["late"]]


@pytest.mark.usefixtures("no_waiting")
def test_a_result_is_not_held_back_by_a_tool_that_chatters(player: Any) -> None:
    chatter = calls("nap", seconds=0.6, name="chatter", chatty=True)
    events = player.events_of(ScriptedModel((*naps(quick=0.0), chatter), "Done."))
    assert batches(events) == [["quick"], ["chatter"]]
    kinds = [event.kind for event in events]
    assert "progress" in kinds[kinds.index("tools_finished") :]


def test_no_more_calls_of_a_turn_run_at_once_than_allowed(player: Any, shop: Any) -> None:
    many = tuple(calls("nap", seconds=0.02, name=str(n)) for n in range(12))
    result = player.run(ScriptedModel(many, "Done."), limits={"max_parallel_calls": 3})
    assert shop.max_parallel == 3
    assert tool_results(result) == [f"slept {n}" for n in range(12)]


@pytest.mark.usefixtures("no_waiting")
def test_a_call_that_finds_no_free_worker_is_told_to_come_back(player: Any) -> None:
    result = player.run(
        ScriptedModel(naps(a=0.4, b=0.0), "Done."), limiter=ConcurrencyLimiter(1), limits={"wait_seconds": 0.1}
    )
    first, second = tool_results(result)
    assert first == "slept a"
    assert json.loads(second)["error_type"] == "busy"


def test_one_failure_loses_no_other_result(player: Any) -> None:
    broken = (
        calls("look", at="x"),
        calls("nothing"),
        ToolCall("", "book", "{"),
        ToolCall("", "", ""),
        calls("nap", seconds="x"),
        calls("book", seat=1),
    )
    result = player.run(ScriptedModel(broken, "Done."))
    first, unknown, invalid, nameless, wrong, last = tool_results(result)
    assert (first, last) == ("saw x", "booked 1")
    kinds = [json.loads(text)["error_type"] for text in (unknown, invalid, nameless, wrong)]
    assert kinds == ["unknown_tool", "invalid_json", "unknown_tool", "invalid_arguments"]


CUT = [
    ((calls("look", at="a"), calls("book", seat=1)), ["saw a", "truncated"]),
    ((calls("book", seat=1), calls("finish", text="x")), ["booked 1", "truncated"]),
    ((calls("report_progress", text="x"), calls("look", at="a")), ["The user was told.", "truncated"]),
    ((calls("look", at="a"), calls("report_progress", text="x")), ["saw a", "truncated"]),
]


@pytest.mark.parametrize(("written", "results"), CUT)
def test_of_a_turn_that_was_cut_off_the_last_call_is_not_made_and_the_others_are(
    player: Any, written: tuple[ToolCall, ...], results: list[str]
) -> None:
    result = player.run(ScriptedModel(ModelResponse(tool_calls=written, finish_reason="length"), "Done."))
    assert (result.status, result.text) == ("completed", "Done.")
    assert [
        json.loads(text)["error_type"] if text.startswith("{") else text for text in tool_results(result)
    ] == results


MIXES: list[tuple[tuple[ToolCall, ...], str, list[str], list[str]]] = [
    ((calls("finish", text="F"),), "completed", [], ["Done."]),
    (
        (calls("book", seat=1), calls("finish", text="F"), calls("look")),
        "completed",
        [],
        ["not run", "Done.", "not run"],
    ),
    (
        (calls("ask_user", question="Q"), calls("finish", text="F")),
        "input_required",
        [],
        ["The user was asked", "not run"],
    ),
    ((calls("finish", text="F"), calls("reject_task", reason="R")), "completed", [], ["Done.", "not run"]),
    ((calls("report_progress", text="P"), calls("reject_task", reason="R")), "rejected", ["P"], ["The user", "Done."]),
    ((calls("reject_task", reason="R"), calls("report_progress", text="P")), "rejected", [], ["Done.", "not run"]),
    ((calls("request_auth", scheme="oauth2", message="M"),), "auth_required", [], ["The user was asked"]),
    (
        (calls("finish", files=["no"], text="F"), calls("ask_user", question="Q"), calls("unknown")),
        "input_required",
        [],
        ["unknown_file", "The user was asked", "not run"],
    ),
    ((calls("finish"), calls("finish", text="F")), "completed", [], ["invalid_arguments", "Done."]),
]


@pytest.mark.parametrize(("written", "status", "progress", "results"), MIXES)
def test_lifecycle_calls_run_first_and_in_order_and_the_first_end_is_the_end(
    player: Any, shop: Any, written: tuple[ToolCall, ...], status: str, progress: list[str], results: list[str]
) -> None:
    model = ScriptedModel(written)
    result = player.run(model)
    assert (result.status, list(result.progress)) == (status, progress)
    assert result.text in ("F", "Q", "R", "M")
    assert result.auth_scheme == ("oauth2" if status == "auth_required" else "")
    assert shop.effects == []
    for text, expected in zip(tool_results(result), results, strict=True):
        assert expected.lower() in text.lower()


def test_progress_between_tools_ends_nothing(player: Any, shop: Any) -> None:
    model = ScriptedModel((calls("look", at="a"), calls("report_progress", text="P"), calls("book", seat=1)), "Done.")
    result = player.run(model)
    assert (result.progress, result.text) == (("P",), "Done.")
    assert tool_results(result) == ["saw a", "The user was told.", "booked 1"]
    assert sorted(shop.effects) == ["book 1", "look a"]


def test_an_end_hands_over_the_files_it_names_or_all(player: Any) -> None:
    draw = (calls("draw", name="a.svg"), calls("draw", name="b.svg"))
    chosen = player.run(ScriptedModel(draw, calls("finish", text="F", files=["b.svg"])))
    assert [info.name for info in chosen.files] == ["b.svg"]
    everything = player.run(ScriptedModel(draw, calls("finish", text="F")))
    assert sorted(info.name for info in everything.files) == ["a.svg", "b.svg"]
    asked = player.run(ScriptedModel(draw, calls("ask_user", question="Q")))
    assert asked.files == ()
