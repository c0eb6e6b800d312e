"""What happens to the calls that a model makes, good and bad."""

import json
import time
from typing import Any

import pytest

from agentfn.models import ModelResponse, ToolCall
from agentfn.testing import ScriptedModel, Stage, calls
from conftest import SideEffects, status_text, task_state


def results(model: ScriptedModel) -> list[tuple[str, str]]:
    """Call ids and results as the model last saw them."""
    return [(turn.tool_call_id, turn.text) for turn in model.requests[-1].turns if turn.role == "tool"]


@pytest.mark.parametrize("arguments", ["", "  \n", "null", '"{}"', "{}", '""'])
def test_nothing_blanks_and_null_are_no_arguments(play: Any, ledger: SideEffects, arguments: str) -> None:
    model = ScriptedModel(ToolCall("c1", "now", arguments), "Noon.")
    task = play(model).send("What time is it?")
    assert ledger.entries == ["now"]
    assert results(model) == [("c1", "noon")]
    assert status_text(task) == "Noon."


BROKEN = [
    ('{"city": "Par', "invalid_json", ""),
    ("[1]", "not_an_object", ""),
    ('"x"', "invalid_json", ""),
    ('{"town": "Paris"}', "invalid_arguments", "$"),
    ('{"city": 7}', "invalid_arguments", "$.city"),
    ("{}", "invalid_arguments", "$"),
]


@pytest.mark.parametrize(("arguments", "kind", "path"), BROKEN)
def test_a_broken_call_is_not_made_and_the_model_is_told_where(
    play: Any, ledger: SideEffects, arguments: str, kind: str, path: str
) -> None:
    model = ScriptedModel(ToolCall("c1", "look_up", arguments), "Sorry.")
    task = play(model).send("Weather?")
    assert ledger.entries == []
    [(call_id, text)] = results(model)
    told = json.loads(text)
    assert (call_id, told["error_type"], told.get("path", "")) == ("c1", kind, path)
    assert task_state(task) == "completed"


def test_a_call_that_was_cut_off_is_not_made_even_if_it_looks_whole(play: Any, ledger: SideEffects) -> None:
    cut = ModelResponse(
        tool_calls=(ToolCall("c1", "book", '{"seat": 1}'), ToolCall("c2", "book", '{"seat": 2')), finish_reason="length"
    )
    model = ScriptedModel(cut, "Sorry.")
    play(model).send("Book!")
    assert ledger.entries == ["book 1"]
    assert "cut off" in results(model)[1][1]
    whole = ModelResponse(tool_calls=(ToolCall("c1", "book", '{"seat": 3}'),), finish_reason="length")
    model = ScriptedModel(whole, "Sorry.")
    play(model).send("Book!")
    assert ledger.entries == ["book 1"]
    assert json.loads(results(model)[0][1])["error_type"] == "truncated"


def test_three_calls_have_three_results_in_order_whatever_became_of_them(play: Any) -> None:
    model = ScriptedModel(
        (ToolCall("a", "look_up", '{"city": "Rome"}'), ToolCall("b", "explode", "{}"), ToolCall("c", "lookup", "{}")),
        "Well.",
    )
    play(model).send("Go!")
    (a, good), (b, raised), (c, unknown) = results(model)
    assert (a, b, c) == ("a", "b", "c")
    assert good == "Rain in Rome."
    assert json.loads(raised) == {
        "error": "explode failed: RuntimeError: the fuse was short",
        "error_type": "tool_failed",
    }
    for name in ("look_up", "now", "book", "explode", "ask_user", "finish"):
        assert name in json.loads(unknown)["error"]
    assert [turn.role for turn in model.requests[-1].turns] == ["user", "assistant", "tool", "tool", "tool"]


def test_a_blocking_tool_times_out_and_holds_nothing_up(play: Any) -> None:
    model = ScriptedModel((calls("sleep", seconds=30), calls("look_up", city="Rome")), "Well.")
    started = time.monotonic()
    play(model).send("Go!")
    assert time.monotonic() - started < 25
    (_, slow), (_, quick) = results(model)
    assert "timed out after 2.0 s" in slow
    assert quick == "Rain in Rome."


def test_endless_tool_use_ends_in_one_closing_call_with_tools_still_declared(play: Any) -> None:
    endless = [calls("look_up", city=f"City {n}") for n in range(5)]
    model = ScriptedModel(*endless, "The best I have.")
    task = play(model, max_steps=5).send("Go!")
    assert len(model.requests) == 6
    closing = model.requests[-1]
    assert closing.tool_choice == "none"
    assert closing.tools == model.requests[0].tools
    assert "limit of 5 steps" in closing.turns[-1].text
    assert (task_state(task), status_text(task)) == ("completed", "The best I have.")
    assert task["metadata"]["agentfn"]["partial"] is True
    assert task["metadata"]["agentfn"]["finish_reason"] == "max_steps"


def test_calls_in_the_closing_turn_are_left_out(play: Any, ledger: SideEffects) -> None:
    call = ToolCall("c", "book", '{"seat": 1}')
    model = ScriptedModel(calls("now"), ModelResponse("Enough.", (call,), finish_reason="tool_calls"))
    task = play(model, max_steps=1).send("Go!")
    assert status_text(task) == "Enough."
    assert ledger.entries == ["now"]


def test_a_closing_turn_that_finishes_by_tool_is_an_answer_too(play: Any) -> None:
    task = play(ScriptedModel(calls("now"), calls("finish", text="Noon, I think.")), max_steps=1).send("Go!")
    assert (task_state(task), status_text(task)) == ("completed", "Noon, I think.")


def test_the_same_call_again_and_again_is_remarked_on_and_then_no_longer_made(play: Any, ledger: SideEffects) -> None:
    model = ScriptedModel.from_function(
        lambda prompt: calls("look_up", city="Rome") if prompt.tool_choice != "none" else "Rain."
    )
    play(model, max_steps=12).send("Go!")
    texts = [text for _, text in results(model)]
    assert texts[0] == texts[1] == "Rain in Rome."
    assert "same call as the last 2" in texts[2]
    assert json.loads(texts[-1])["error_type"] == "repeated"
    assert len(ledger.entries) == 6 < 10


def test_an_attached_file_is_named_to_the_model_and_reaches_the_tool(play: Any) -> None:
    model = ScriptedModel(
        calls("count_bytes", file="numbers.csv"), calls("count_bytes", file="/tmp/x/numbers.csv"), "Counted."
    )
    play(model).send("Count.", files={"numbers.csv": b"a,b\n1,2\n"})
    assert "- numbers.csv (text/csv, 8 bytes)" in model.requests[0].turns[0].text
    assert [text for _, text in results(model)] == ["numbers.csv: 8"] * 2


def test_a_name_that_no_file_has_is_answered_with_the_names_there_are(play: Any) -> None:
    model = ScriptedModel(calls("count_bytes", file="other.csv"), "Sorry.")
    play(model).send("Count.", files={"a.csv": b"1", "b.csv": b"2"})
    assert json.loads(results(model)[0][1])["error"] == "there is no file 'other.csv'; there are: a.csv, b.csv"


def test_produced_files_become_artifacts_and_progress_reaches_the_caller(play: Any) -> None:
    model = ScriptedModel(
        (calls("draw"), calls("draw", name="second.svg")), calls("finish", text="Drawn.", files=["second.svg"])
    )
    stage: Stage = play(model)
    task = stage.send("Draw.")
    assert [artifact["name"] for artifact in task["artifacts"]] == ["second.svg"]
    assert "Produced files:\n- chart.svg (image/svg+xml," in results(model)[0][1]
    events = [item["events"]["S"] for item in stage.table_items() if item["sk"]["S"].startswith("event#")]
    assert any("drawing" in event for event in events)


def test_finishing_with_an_unknown_file_is_a_mistake_not_an_end(play: Any) -> None:
    model = ScriptedModel(calls("draw"), calls("finish", text="Here.", files=["nothing.svg"]), "Drawn.")
    task = play(model).send("Draw.")
    assert status_text(task) == "Drawn."
    assert "no such file: nothing.svg; there are: chart.svg" in results(model)[-1][1]


def test_a_long_result_is_cut_and_the_whole_is_kept_for_the_model_alone(play: Any) -> None:
    model = ScriptedModel(calls("recite", length=600_000), calls("count_bytes", file="output-call_1_1.txt"), "Long.")
    task = play(model).send("Recite.")
    (_, cut), (_, counted) = results(model)
    assert len(cut) < 31_000
    assert "570,000 of 600,000 characters are missing; the whole is in output-call_1_1.txt" in cut
    assert counted == "output-call_1_1.txt: 600000"
    assert "artifacts" not in task


def test_a_turn_that_a_lifecycle_tool_ends_answers_all_its_calls(play: Any, ledger: SideEffects) -> None:
    model = ScriptedModel((calls("book", seat=1), calls("ask_user", question="Sure?"), calls("now")), "Fine.")
    stage = play(model)
    task = stage.send("Go!")
    assert task_state(task) == "input_required"
    stage.send("Yes.", taskId=task["id"])
    assert ledger.entries == []
    assert [turn.role for turn in model.requests[-1].turns] == ["user", "assistant", "tool", "tool", "tool", "user"]
    assert [call_id for call_id, _ in results(model)] == ["call_1_1", "call_1_2", "call_1_3"]


def test_an_empty_answer_never_completes_a_task(play: Any) -> None:
    task = play(ScriptedModel(ModelResponse(""), ModelResponse("  \n"), ModelResponse(""))).send("Go!")
    assert task_state(task) == "failed"
    assert "empty answer" in status_text(task)
    assert status_text(play(ScriptedModel(ModelResponse(""), "Second try.")).send("Go!")) == "Second try."


def test_a_refusal_by_the_content_filter_is_a_failure_with_words(play: Any) -> None:
    task = play(ScriptedModel(ModelResponse("", finish_reason="content_filter"))).send("Go!")
    assert task_state(task) == "failed"
    assert "content filter" in status_text(task)
