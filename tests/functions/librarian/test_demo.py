"""The demo model: rules that play whole tasks, and never claim to be more."""

import asyncio
import json
from concurrent.futures import ThreadPoolExecutor

import pytest

from agentfn.models import ModelRequest, ToolCall, Turn
from functions.librarian.tool_harness import NestedResult, ToolHarness
from librarian.demo.demo_rules import NO_DOCUMENT_QUESTION, demo_model
from librarian.demo.extracts import best_extracts, split_extracts
from librarian.demo.question import classify_question
from librarian.tools import TOOLS

QUESTION = "How high may a building in the Mill Street Mixed District be?"


@pytest.mark.parametrize(
    ("question", "kind"),
    [
        ("Write a report on this packet.", "report"),
        ("Please summarise item 5.", "summary"),
        ("Give me an overview", "summary"),
        ("", "summary"),
        ("Which items are on the agenda?", "items"),
        ('Where is "Tannery Hill" mentioned?', "find"),
        ("What does item 7.2 say about rock?", "item"),
        ("Who reported on the river path?", "question"),
        ("What does the staff report say about traffic?", "question"),
    ],
)
def test_what_is_asked_for_is_told_by_a_few_words(question: str, kind: str) -> None:
    assert classify_question(question).kind == kind


def test_a_quoted_text_is_found_everywhere(packet_desk: ToolHarness) -> None:
    result = packet_desk.run_loop(demo_model(), TOOLS, 'How often is "Tannery Hill" mentioned, and where?')
    assert result.text.startswith("3 matches: packet.pdf, Item 5.1, p. 12; ")
    assert "has_more" not in result.text


def test_the_items_are_listed(packet_desk: ToolHarness) -> None:
    result = packet_desk.run_loop(demo_model(), TOOLS, "Which items are in the packet?")
    assert "- 5.2 · Tables · pp. 13\u201314" in result.text


def test_one_item_is_told_by_its_first_sentences_and_figures(packet_desk: ToolHarness) -> None:
    result = packet_desk.run_loop(demo_model(), TOOLS, "What does item 4 say?")
    assert (
        "- The cost is $48,700, of which the safe routes fund of the state pays $30,000. (packet.pdf, Item 4, p. 9)"
        in (result.text)
    )


def test_a_question_that_nothing_answers_gets_no_made_up_answer(packet_desk: ToolHarness) -> None:
    result = packet_desk.run_loop(demo_model(), TOOLS, "Zebras xylophone quixotic?")
    assert result.text.startswith("Nothing in the packet shares a word with the question.")


def test_without_a_document_it_asks_for_one_and_goes_on_with_it(desk: ToolHarness) -> None:
    asking = desk.run_loop(demo_model(), TOOLS, QUESTION)
    assert (asking.status, asking.text) == ("input_required", NO_DOCUMENT_QUESTION)
    desk.attach("a.md", "# Rules\n\nA building in the Mill Street district may be 45 feet high.\n")
    here = Turn("user", "Here it is.\n\nAttached files:\n- a.md (text/markdown, 70 bytes)")
    done = desk.run_loop(demo_model(), TOOLS, QUESTION, Turn("assistant", NO_DOCUMENT_QUESTION), here)
    assert 'may be 45 feet high. ("Rules", § 1)' in done.text


def test_a_file_that_cannot_be_read_is_asked_for_anew(desk: ToolHarness) -> None:
    desk.attach("scan.png", b"\x89PNG\r\n\x1a\n")
    result = desk.run_loop(demo_model(), TOOLS, QUESTION)
    assert result.status == "input_required"
    assert "scan.png cannot be read: it is a picture" in result.text


def test_inner_loops_get_an_extract_of_their_part(packet_desk: ToolHarness) -> None:
    model = demo_model()

    def inner(name: str, message: str) -> NestedResult:
        with ThreadPoolExecutor() as thread:  # an event loop runs here already
            return NestedResult(
                thread.submit(asyncio.run, model.generate(ModelRequest("", (Turn("user", message),)))).result().text
            )

    packet_desk.nested_answer = inner
    result = packet_desk.run_loop(model, TOOLS, "Please write a report.")
    report = packet_desk.read("report.md")
    assert (
        "- The cost is $48,700, of which the safe routes fund of the state pays $30,000. (packet.pdf, Item 4, p. 9)"
        in (report)
    )
    assert '(library-memo.docx, "What came back", § 3)' in report
    assert result.text.startswith("report.md is written: ")


def test_sentences_are_told_apart_and_rows_get_the_names_of_their_columns() -> None:
    text = (
        "[p. 1]\nFees\nMr. Orr of St. Ives pays $3.50. He is No. 5 on\nthe list.\n\n"
        "Who   2026   2027\nOrr   3   4\nVail   5   6\n\n[p. 2]\n- one thing\n- another"
    )
    assert [str(one) for one in split_extracts(text)] == [
        "Fees Mr. Orr of St. Ives pays $3.50. (p. 1)",
        "He is No. 5 on the list. (p. 1)",
        "Who, 2026, 2027 (p. 1)",
        "Orr: 2026 3, 2027 4 (p. 1)",
        "Vail: 2026 5, 2027 6 (p. 1)",
        "one thing (p. 2)",
        "another (p. 2)",
    ]
    assert best_extracts("How many does Vail have in 2027?", split_extracts(text))[0].text.startswith("Vail")


def test_a_task_that_began_with_another_model_is_taken_over(packet_desk: ToolHarness) -> None:
    turns = [
        Turn("user", QUESTION),
        Turn("assistant", tool_calls=(ToolCall("c1", "search", "not JSON"), ToolCall("c2", "unknown", "[]"))),
        Turn("tool", json.dumps({"error": "no", "error_type": "invalid_json"}), tool_call_id="c1", tool_name="search"),
        Turn("tool", "?", tool_call_id="c2", tool_name="unknown"),
    ]
    assert "45 feet" in packet_desk.run_loop(demo_model(), TOOLS, *turns).text
