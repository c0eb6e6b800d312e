"""The deployed librarian, over HTTP through its API."""

from __future__ import annotations

import mimetypes

import httpx
import pytest
from a2a.types import Part, TaskState

from e2e.a2a_client import AgentClient, said
from functions.librarian.questions import QUESTIONS, SampleQuestion, packet

pytestmark = pytest.mark.timeout(900)  # the first test builds and deploys


@pytest.fixture(scope="module")
def parts() -> list[Part]:
    return [
        Part(raw=content, filename=name, media_type=mimetypes.guess_type(name)[0] or "")
        for name, content in packet().items()
    ]


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda question: question.citation)
def test_a_question_about_the_packet_is_answered_with_item_and_page(
    librarian: AgentClient, parts: list[Part], question: SampleQuestion
) -> None:
    task = librarian.wait(librarian.send(question.text, *parts), 90)
    assert task.status.state == TaskState.TASK_STATE_COMPLETED, said(task)
    for fact in question.facts:
        assert fact in said(task)
    assert question.citation in said(task)


def test_a_report_on_the_whole_packet_comes_as_a_file(librarian: AgentClient, parts: list[Part]) -> None:
    task = librarian.wait(librarian.send("Write a report on the whole packet.", *parts, wait=False), 120)
    assert task.status.state == TaskState.TASK_STATE_COMPLETED, said(task)
    (part,) = (part for artifact in task.artifacts for part in artifact.parts)
    assert part.filename == "report.md"
    assert "Item 5" in httpx.get(part.url).text
