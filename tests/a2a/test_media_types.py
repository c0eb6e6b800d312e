"""Media types: what an agent takes and gives, and how it says no."""

import base64
from pathlib import Path
from typing import Any

import pytest

from agentfn import Agent
from agentfn.testing import ScriptedModel, Stage, calls
from support.protocol_clients import CLIENTS, ProtocolClient
from support.raw_http_server import RawHttpServer, http_response

pytestmark = pytest.mark.slow

EACH = pytest.mark.parametrize("speaker", CLIENTS, ids=str)
NEW = CLIENTS[0]
TEXT, DATA = {"text": "Hi!"}, {"data": {"a": 1}}


def file(name: str = "", media_type: str = "") -> dict[str, str]:
    named = {"filename": name} if name else {}
    return {"raw": base64.b64encode(b"abc").decode(), **named, **({"mediaType": media_type} if media_type else {})}


def stage(*modes: str, gives: tuple[str, ...] = ("text/plain",), **settings: Any) -> Stage:
    agent = Agent(name="reader", description="Reads.", input_modes=modes, output_modes=gives)
    return Stage(agent, ScriptedModel("Read."), **settings)


@EACH
@pytest.mark.parametrize(
    ("part", "kind"),
    [(TEXT, "text/plain"), (DATA, "application/json"), (file("a.pdf", "application/pdf"), "application/pdf")],
)
def test_a_part_that_is_not_taken_is_refused_with_what_is(speaker: ProtocolClient, part: Any, kind: str) -> None:
    with stage("text/csv", "image/*") as played:
        refused = speaker.send(played, part)
        assert refused.error == "CONTENT_TYPE_NOT_SUPPORTED"
        assert refused.message == f"part 1: {kind} is not taken; the agent takes text/csv, image/*"
        assert played.table_items() == []
        assert played.aws_calls["PutObject"] == 0


@pytest.mark.parametrize(
    ("mode", "part"),
    [
        ("text/plain", TEXT),
        ("text/*", TEXT),
        ("*/*", TEXT),
        ("text/markdown", {**TEXT, "mediaType": "text/markdown"}),
        ("text/plain", {**TEXT, "mediaType": "text/markdown"}),
        ("application/json", DATA),
        ("application/vnd.acme+json", {**DATA, "mediaType": "application/vnd.acme+json"}),
        ("*/*", DATA),
        ("text/csv", file("a.csv", "text/csv")),
        ("text/csv", file("a.txt", "TEXT/CSV; charset=utf-8")),
        ("Text/CSV", file("a.csv")),
        ("text/csv", file("a.csv", "application/octet-stream")),
        ("image/*", file("a.png")),
        ("*/*", file()),
        ("application/octet-stream", file("a.pdf", "application/pdf")),
        ("application/octet-stream", file()),
    ],
)
def test_a_part_is_taken_by_its_type_or_by_its_name(mode: str, part: Any) -> None:
    with stage(mode) as played:
        assert NEW.state(NEW.task(NEW.send(played, part))) == "completed"


@pytest.mark.parametrize(
    ("mode", "part"),
    [
        ("application/octet-stream", TEXT),
        ("application/octet-stream", DATA),
        ("text/csv", file("a.csv", "application/pdf")),
        ("text/csv", file()),
        ("image/*", file("a.csv", "imageries/csv")),
    ],
)
def test_bytes_of_any_kind_are_not_words_and_a_name_does_not_outdo_a_type(mode: str, part: Any) -> None:
    with stage(mode) as played:
        assert NEW.send(played, part).error == "CONTENT_TYPE_NOT_SUPPORTED"


def test_an_agent_that_names_no_modes_takes_and_gives_whatever_it_can() -> None:
    with stage(gives=()) as played:
        sent = NEW.send(played, TEXT, file(), configuration={"acceptedOutputModes": ["image/png"]})
        assert NEW.state(NEW.task(sent)) == "completed"


def test_a_file_at_an_address_is_refused_by_what_it_turns_out_to_be() -> None:
    pdf = RawHttpServer(http_response(b"%PDF", "Content-Type: application/pdf"))
    with pdf as place, stage("text/plain", "text/csv", fetch_loopback="true") as played:
        refused = NEW.send(played, TEXT, {"url": f"{place.url}/a"})
        assert refused.error == "CONTENT_TYPE_NOT_SUPPORTED"
        assert refused.message.startswith("part 2: application/pdf is not taken")
        assert place.connections == 1
        said = NEW.send(played, TEXT, {"url": f"{place.url}/a", "mediaType": "application/pdf"})
        assert said.error == "CONTENT_TYPE_NOT_SUPPORTED"
        assert place.connections == 1  # it said so: nothing is fetched for that
        inline = NEW.send(played, {"url": "data:image/png;base64,YWJj"})
        assert inline.error == "CONTENT_TYPE_NOT_SUPPORTED"
        assert played.table_items() == []


def test_a_follow_up_is_read_as_strictly() -> None:
    agent = Agent(name="reader", description="Reads.", input_modes=("text/plain",))
    with Stage(agent, ScriptedModel(calls("ask_user", question="Which?"), "That one.")) as played:
        task = played.send("Read!")
        assert NEW.send(played, DATA, taskId=task["id"]).error == "CONTENT_TYPE_NOT_SUPPORTED"
        assert NEW.state(NEW.task(NEW.send(played, TEXT, taskId=task["id"]))) == "completed"


@EACH
def test_a_caller_who_accepts_nothing_that_is_given_is_refused(speaker: ProtocolClient) -> None:
    with stage("text/plain", gives=("text/plain", "text/csv")) as played:
        refused = speaker.send(played, TEXT, configuration={"acceptedOutputModes": ["image/png", "audio/*"]})
        assert refused.error == "CONTENT_TYPE_NOT_SUPPORTED"
        assert "the agent gives text/plain, text/csv" in refused.message
        assert played.table_items() == []


@pytest.mark.parametrize(
    "accepted",
    [[], ["text/csv"], ["image/png", "text/plain"], ["text/*"], ["*/*"], ["application/octet-stream"], ["text"]],
    ids=str,
)
def test_one_kind_that_both_know_is_enough(accepted: list[str]) -> None:
    with stage("text/plain", gives=("text/plain", "text/csv")) as played:
        sent = NEW.send(played, TEXT, configuration={"acceptedOutputModes": accepted})
        assert NEW.state(NEW.task(sent)) == "completed"


def test_an_agent_that_gives_files_of_any_kind_suits_everyone() -> None:
    with stage("text/plain", gives=("text/plain", "application/octet-stream")) as played:
        sent = NEW.send(played, TEXT, configuration={"acceptedOutputModes": ["image/png"]})
        assert NEW.state(NEW.task(sent)) == "completed"


def test_the_agents_of_this_project_take_any_file() -> None:
    for app in sorted((Path(__file__).parents[2] / "functions").glob("*/app.py")):
        assert '"application/octet-stream"' in app.read_text(), app
