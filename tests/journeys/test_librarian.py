"""The librarian, whole: the sample packet and a question in, an answer with its pages out."""

import asyncio
import importlib
import json
import re
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import requests

from agentfn.models import ModelRequest, ModelResponse
from agentfn.settings import Settings
from agentfn.testing import LocalLambdaContext, ScriptedModel, Stage
from conftest import status_text, task_state
from functions.librarian.questions import QUESTIONS, packet

FOLDER = Path(__file__).resolve().parents[2] / "functions" / "librarian"
EVENTS = FOLDER / "events"
ENVIRONMENT: dict[str, str] = json.loads((EVENTS / "env.json").read_text())["Parameters"]
PART, DIGESTS = "The part to sum up:", "The digests to put together:"


@pytest.fixture
def app(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    """functions/librarian/app.py, imported as Lambda imports it."""
    monkeypatch.syspath_prepend(str(FOLDER))
    for name, value in ENVIRONMENT.items():
        if name.startswith("AGENT"):
            monkeypatch.setenv(name, value)
    sys.modules.pop("app", None)
    module = importlib.import_module("app")
    yield module
    module.handler.close()
    sys.modules.pop("app", None)


@pytest.fixture
def stage(app: ModuleType) -> Iterator[Stage]:
    with Stage(app.agent, app.agent.models["demo"]()) as stage:
        yield stage


def download(task: dict[str, Any], name: str) -> str:
    (artifact,) = [artifact for artifact in task["artifacts"] if artifact["name"] == name]
    return requests.get(artifact["parts"][0]["url"], timeout=5).content.decode()


def test_an_answer_has_the_fact_its_item_and_its_page(stage: Stage) -> None:
    for question in QUESTIONS[4:6]:
        task = stage.send(question.text, files=packet())
        assert task_state(task) == "completed"
        assert f"({question.citation})" in status_text(task)
        assert all(fact in status_text(task) for fact in question.facts)


def test_a_model_that_cannot_call_tools_answers_from_the_packet_all_the_same(app: ModuleType) -> None:
    """By JSON actions: it looks, reads the place that it found, and cites it."""

    def answer(prompt: ModelRequest) -> str:
        results = [turn.text for turn in prompt.turns if turn.text.startswith("Result of")]
        if not results:
            return 'First I search. {"thought": "where?", "tool": "search", "args": {"query": "planning board vote"}}'
        cited = re.search(r"packet\.pdf, Item 6\.3, p\. 22", results[0])
        assert cited is not None
        return json.dumps({"tool": "final_answer", "args": {"text": f"Five to two ({cited[0]})."}})

    with Stage(app.agent, ScriptedModel.from_function(answer), agent_protocol="json") as stage:
        task = stage.send(QUESTIONS[5].text, files=packet())
    assert status_text(task) == "Five to two (packet.pdf, Item 6.3, p. 22)."


def test_the_model_is_told_how_to_cite(app: ModuleType) -> None:
    model = ScriptedModel("Nothing.")
    with Stage(app.agent, model) as stage:
        stage.send("Hello?")
    system = model.requests[0].system
    assert "(Item 5.2, p. 13)" in system
    assert "A citation is what the tools put in brackets" in system


def test_a_question_without_a_document_is_answered_by_a_question(stage: Stage) -> None:
    task = stage.send(QUESTIONS[4].text)
    assert task_state(task) == "input_required"
    assert "attach the documents" in status_text(task)
    done = stage.send("Here it is.", files=packet(), taskId=task["id"])
    assert task_state(done) == "completed"
    assert QUESTIONS[4].citation in status_text(done)


UNREADABLE = {
    "a picture": ("photo.pdf", b"\x89PNG\r\n\x1a\n" + bytes(range(256))),
    "a broken pdf": ("packet.pdf", b"%PDF-1.7\nand then nothing"),
    "nothing but blanks": ("blank.txt", b" \n \n"),
}


@pytest.mark.parametrize(("name", "content"), UNREADABLE.values(), ids=UNREADABLE)
def test_a_file_that_cannot_be_read_ends_in_readable_words(stage: Stage, name: str, content: bytes) -> None:
    task = stage.send("What does it say?", files={name: content})
    assert task_state(task) == "input_required"
    assert f"{name} cannot be read: " in status_text(task)
    assert "Traceback" not in str(task)


def test_a_report_goes_through_all_of_the_packet_and_is_handed_over(stage: Stage) -> None:
    task = stage.send("Please write a report on this packet.", files=packet())
    assert task_state(task) == "completed"
    report = download(task, "report.md")
    for item in (
        "(packet.pdf, Item 4, p. 9)",
        "(packet.pdf, Item 8, pp. 27\u201329)",
        "library-memo.docx",
        "notice.html",
    ):
        assert item in report
    assert "What is not covered" not in report
    assert "not a language model" in status_text(task)


@pytest.mark.usefixtures("no_waiting")
def test_a_summary_that_needs_several_runs_reads_no_part_twice(app: ModuleType) -> None:
    demo = app.agent.models["demo"]()
    begun: Counter[str] = Counter()
    held = [True]

    async def answer(prompt: ModelRequest) -> ModelResponse:
        asked = prompt.turns[0].text
        part = re.search(rf"(?:{PART}|{DIGESTS})\n\n\[(.+?)\]", asked)
        if part:
            begun[f"{asked.count(DIGESTS)} {part[1]}"] += 1
            if "Item 5.1" in asked and PART in asked and held:
                await asyncio.sleep(30)
        reply: ModelResponse = await demo.generate(prompt)
        return reply

    with Stage(app.agent, ScriptedModel.from_function(answer), reserve_seconds=0.5) as stage:
        task = stage.send("Please sum up all of this.", files=packet(), seconds=28)
        assert task_state(task) == "working"
        first = dict(begun)
        held.clear()
        stage.drain_queue()
        task = stage.get(task["id"])
    assert task_state(task) == "completed", status_text(task)
    assert "(packet.pdf, Item 4, p. 9)" in status_text(task)
    assert 3 < len(first) < len(begun)
    twice = [part for part, times in begun.items() if times > 1]
    assert all(times <= 2 for times in begun.values())
    assert "0 packet.pdf, Item 5, p. 10" in twice
    assert len(twice) <= 4  # what was under way when the first run ended


def test_the_events_for_sam_local_invoke_work_as_they_are(app: ModuleType) -> None:
    """The same files that `sam local invoke` takes, in the order a person would play them."""
    events = {path.stem: json.loads(path.read_text()) for path in EVENTS.glob("*.json") if path.stem != "env"}
    assert events.keys() == {"card", "send-blocking", "send-non-blocking", "get", "continuation"}
    with Stage(app.agent, app.agent.models["demo"](), tokens=ENVIRONMENT["AGENTFN_TOKENS"]) as stage:
        context = LocalLambdaContext(60)
        assert json.loads(stage.handler(events["card"], context)["body"])["name"] == "librarian"
        done = json.loads(stage.handler(events["send-blocking"], context)["body"])["result"]["task"]
        assert task_state(done) == "completed"
        assert "412" in status_text(done)
        sent = json.loads(stage.handler(events["send-non-blocking"], context)["body"])["result"]["task"]
        assert task_state(sent) == "submitted"
        continuation = events["continuation"]["Records"][0]
        continuation["body"] = json.dumps({**json.loads(continuation["body"]), "task": sent["id"]})
        assert stage.handler(events["continuation"], context) == {"batchItemFailures": []}
        get = events["get"]
        get["body"] = json.dumps({**json.loads(get["body"]), "params": {"id": sent["id"]}})
        assert task_state(json.loads(stage.handler(get, context)["body"])["result"]) == "completed"


def test_the_environment_file_has_variables_that_agentfn_knows() -> None:
    assert {name for name in ENVIRONMENT if name.startswith("AGENT")} <= Settings.variables().keys()
