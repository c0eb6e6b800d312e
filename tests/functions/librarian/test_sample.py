"""The sample packet and the questions about it."""

import pytest

from agentfn import Agent
from agentfn.testing import ScriptedModel, Stage, calls
from functions.librarian import make_packet
from functions.librarian.questions import DATA, QUESTIONS, SampleQuestion, packet
from functions.librarian.tool_harness import ToolHarness
from librarian.demo.demo_rules import DEMO_NOTICE, demo_model
from librarian.tools import TOOLS

AGENT = Agent(name="librarian", description="Answers from documents.", tools=TOOLS)


def test_the_sample_packet_is_what_its_script_makes() -> None:
    for name, content in make_packet.packet().items():
        assert (DATA / name).read_bytes() == content, f"run {make_packet.__file__}"


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda question: question.text[:40])
def test_the_facts_of_an_answer_stand_where_it_is_cited(packet_desk: ToolHarness, question: SampleQuestion) -> None:
    from librarian.lookup_tools import read

    document, _, place = question.citation.partition(", ")
    text = packet_desk.call(read, document=document, pages=place.rpartition(" ")[2])
    assert f"[{question.citation}]" in text
    words = " ".join(text.split())
    assert all(fact in words for fact in question.facts)


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda question: question.text[:40])
def test_a_search_for_a_question_shows_its_page_among_the_first_three(
    packet_desk: ToolHarness, question: SampleQuestion
) -> None:
    from librarian.lookup_tools import search

    assert question.citation in packet_desk.call(search, query=question.text, most=3)


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda question: question.text[:40])
def test_the_demo_model_answers_a_question_with_the_facts_and_their_place(
    packet_desk: ToolHarness, question: SampleQuestion
) -> None:
    result = packet_desk.run_loop(demo_model(), TOOLS, question.text)
    assert result.status == "completed"
    assert all(fact in result.text for fact in question.facts), result.text
    assert f"({question.citation})" in result.text
    assert DEMO_NOTICE in result.text


def test_questions_are_answered_through_the_real_handler() -> None:
    with Stage(AGENT, demo_model()) as stage:
        for question in QUESTIONS[:3]:
            task = stage.send(question.text, files=packet())
            text = task["status"]["message"]["parts"][0]["text"]
            assert question.citation in text, text


def test_a_model_that_looks_reads_and_cites_gets_what_it_needs_for_it() -> None:
    model = ScriptedModel(
        calls("list_items"),
        (calls("search", query="Mill Street height"), calls("find_text", text="four stories")),
        calls("read", item="6.2"),
        "At most 45 feet or four stories (packet.pdf, Item 6.2, p. 21).",
    )
    with Stage(AGENT, model) as stage:
        task = stage.send("How high may one build?", files=packet())
    assert task["status"]["state"] == "TASK_STATE_COMPLETED"
    listed, searched, found, read = [turn.text for turn in model.requests[-1].turns if turn.role == "tool"]
    assert "- 6.2 · Text of the ordinance · pp. 20\u201321" in listed
    assert "packet.pdf, Item 6.2, p. 21" in searched
    assert found.startswith("1 match: packet.pdf, Item 6.2, p. 21.")
    assert "[packet.pdf, Item 6.2, p. 21]" in read
