"""API Gateway's events in all their shapes."""

import base64
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentfn.event_sources.api_gateway import ApiGatewayEventSource
from agentfn.event_sources.api_gateway_event import (
    INVALID_JSON,
    base_url,
    normalize_event,
)
from agentfn.event_sources.event_source import EventSource
from agentfn.event_sources.schedule import ScheduleEventSource
from agentfn.event_sources.sqs import SqsEventSource
from agentfn.testing import http_event, queue_event, rest_event

REST = "abc.execute-api.eu-west-1.amazonaws.com"
CARD = "/.well-known/agent-card.json"
MAKERS = [rest_event, http_event]


def path_of(event: dict[str, Any]) -> str:
    if event.get("version") == "2.0":
        assert event["rawPath"] == event["requestContext"]["http"]["path"]
        return str(event["rawPath"])
    return str(event["path"])


@pytest.mark.parametrize("make", MAKERS)
@pytest.mark.parametrize("stage", ["prod", "$default", "v1"])
@pytest.mark.parametrize("path", ["/", CARD, "/a", "/prod", "/prod/x", "/v1/message:send", "/production/x"])
def test_the_agents_path_has_no_stage_wherever_the_api_puts_it(make: Any, stage: str, path: str) -> None:
    if make is http_event and stage == "$default" and path.startswith("/$default"):
        return
    assert path_of(normalize_event(make("GET", path, stage=stage), "")) == path


@pytest.mark.parametrize("make", MAKERS)
@pytest.mark.parametrize(
    ("path", "own"),
    [
        ("/agents/pdf" + CARD, CARD),
        ("/agents/pdf", "/"),
        ("/agents/pdf/", "/"),
        ("/agents/pdfs/x", "/agents/pdfs/x"),
        (CARD, CARD),
        ("/x/", "/x"),
        ("//", "/"),
    ],
)
def test_a_base_path_is_taken_off_and_so_is_a_last_slash(make: Any, path: str, own: str) -> None:
    event = make("GET", path, stage="$default", domain="api.example.com")
    assert path_of(normalize_event(event, "/agents/pdf")) == own


@pytest.mark.parametrize(
    ("event", "public", "base", "url"),
    [
        (rest_event("GET", CARD, stage="prod", domain=REST), None, "", f"https://{REST}/prod"),
        (http_event("GET", CARD, stage="prod", domain=REST), None, "", f"https://{REST}/prod"),
        (http_event("GET", CARD, stage="$default", domain=REST), None, "", f"https://{REST}"),
        (rest_event("GET", CARD, domain="api.example.com"), None, "/agents/pdf", "https://api.example.com/agents/pdf"),
        (rest_event("GET", CARD, domain="api.example.com"), None, "", "https://api.example.com"),
        (rest_event("GET", CARD, domain=REST), "http://me.example/x", "/y", "http://me.example/x"),
    ],
)
def test_callers_are_told_the_url_that_they_reach(event: Any, public: str | None, base: str, url: str) -> None:
    assert base_url(event, public, base) == url


def test_without_a_domain_the_host_that_was_asked_for_is_it() -> None:
    event = rest_event("GET", "/", headers={"HOST": "laptop:3000"})
    del event["requestContext"]["domainName"]
    event["headers"].pop("Host")
    assert base_url(event, None, "") == "https://laptop:3000"
    event["headers"] = None
    assert base_url(event, None, "") == "https://localhost"


@pytest.mark.parametrize("make", MAKERS)
def test_a_base64_body_is_the_same_as_a_plain_one(make: Any) -> None:
    plain = json.dumps({"text": "é"})
    assert normalize_event(make("POST", "/", plain), "")["body"] == plain
    event = normalize_event(make("POST", "/", plain.encode()), "")
    assert (event["body"], event["isBase64Encoded"]) == (plain, False)


@pytest.mark.parametrize("make", MAKERS)
@pytest.mark.parametrize("body", ["%%%", "abc", "é", base64.b64encode(b"\xff\xfe").decode(), "{}"])
def test_a_body_that_is_not_what_it_says_is_no_json_and_no_crash(make: Any, body: str) -> None:
    event = {**make("POST", "/"), "body": body, "isBase64Encoded": True}
    assert normalize_event(event, "")["body"] == INVALID_JSON
    with pytest.raises(ValueError, match="Expecting value"):
        json.loads(INVALID_JSON)


@pytest.mark.parametrize("make", MAKERS)
@pytest.mark.parametrize("body", [None, ""])
def test_no_body_is_an_empty_one(make: Any, body: str | None) -> None:
    assert normalize_event({**make("POST", "/"), "body": body, "isBase64Encoded": True}, "")["body"] == ""


def test_the_event_that_came_is_not_changed() -> None:
    event = http_event("POST", "/x/", b"{}", stage="prod")
    before = json.dumps(event)
    normalize_event(event, "/x")
    assert json.dumps(event) == before


NONE: Any = None  # no event source needs its parts to tell its events
SOURCES: dict[str, EventSource] = {
    "http": ApiGatewayEventSource(NONE, "", NONE),
    "queue": SqsEventSource(NONE, NONE, 0),
    "schedule": ScheduleEventSource(NONE, 0),
}
SHAPES: list[tuple[dict[str, Any], set[str]]] = [
    ({}, set()),
    ({"Records": []}, set()),
    ({"Records": None}, set()),
    ({"Records": [1]}, set()),
    ({"Records": [{"eventSource": "aws:s3"}]}, set()),
    ({"requestContext": {}}, set()),
    ({"source": "aws.events", "version": "0"}, set()),
    (rest_event("GET", "/"), {"http"}),
    (http_event("GET", "/"), {"http"}),
    (queue_event({"MessageId": "m", "ReceiptHandle": "r", "Body": "{}"}), {"queue"}),
    ({"agentfn": "sweep"}, {"schedule"}),
]


@pytest.mark.parametrize(("event", "sources"), SHAPES)
def test_event_sources_are_told_apart_by_the_event_s_shape(event: dict[str, Any], sources: set[str]) -> None:
    assert {name for name, source in SOURCES.items() if source.matches(event)} == sources


SEGMENTS = st.text(st.characters(exclude_characters="\r\n"), max_size=12)


@given(
    make=st.sampled_from(MAKERS),
    path=st.lists(SEGMENTS, max_size=4).map(lambda parts: "/" + "/".join(parts)),
    stage=st.sampled_from(["prod", "$default", ""]),
    base=st.sampled_from(["", "/a", "/a/b"]),
    body=st.none() | st.text() | st.binary(),
    flagged=st.booleans(),
)
def test_no_path_and_no_body_breaks_it(
    make: Any, path: str, stage: str, base: str, body: str | bytes | None, flagged: bool
) -> None:
    event = make("POST", path, body, stage=stage)
    event["isBase64Encoded"] = flagged
    once = normalize_event(event, base)
    own = path_of(once)
    assert own.startswith("/")
    assert own == "/" or not own.endswith("/")
    assert isinstance(once["body"], str | None)
    assert base_url(event, None, base).startswith("https://")
    json.dumps(once)
