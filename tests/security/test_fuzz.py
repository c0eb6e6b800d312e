"""Whatever comes in at the doors: an answer in the form of the protocol, and never a fault of ours.

`FUZZ_EXAMPLES=20000 pytest --timeout 0 tests/security/test_fuzz.py` looks for longer.
"""

import base64
import contextlib
import gzip
import json
import os
import zlib
from collections.abc import Iterator
from typing import Any

import pytest
from a2a.utils.errors import InvalidParamsError
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agentfn import Agent, InputFile, tool
from agentfn.a2a.wire.file_parts import validate_file_parts
from agentfn.a2a.wire.strict_json import JsonBodyError, parse_body
from agentfn.errors import FileRejected
from agentfn.event_sources.api_gateway_event import normalize_event
from agentfn.fetch.fetch_response import choose_file_name
from agentfn.fetch.source import read_source
from agentfn.testing import LocalLambdaContext, ScriptedModel, Stage, rest_event
from agentfn.testing.stage import auth_headers
from agentfn.tools.workspaces.file_names import content_disposition, sanitize_file_name, sanitize_media_type
from security import fuzz_strategies
from security.fuzz_strategies import bodies, events, paths

pytestmark = pytest.mark.slow

MORE = int(os.environ.get("FUZZ_EXAMPLES", "0"))
INTERNAL = -32603
SECONDS = 3.0  # of an invocation: one that waits for a task waits no longer


def fuzz(examples: int) -> settings:
    checks = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much]
    return settings(max_examples=MORE or examples, suppress_health_check=checks)


@pytest.fixture(scope="module")
def stage() -> Iterator[Stage]:
    """With everything switched on; nothing on it leads out of this machine."""

    @tool(idempotent=True)
    def count(file: InputFile) -> int:
        """Counts the bytes of a file."""
        return len(file.read_bytes())

    agent = Agent(name="clerk", description="A clerk.", tools=[count])
    model = ScriptedModel.from_function(lambda _: "Done.")
    with Stage(agent, model, mcp=True, streaming=True, fetch_hosts="nowhere.test") as stage:
        yield stage


def answered(stage: Stage, event: dict[str, Any]) -> dict[str, Any]:
    """The answer, which is a sound one."""
    answer: dict[str, Any] = stage.handler(event, LocalLambdaContext(SECONDS))
    kind, body = (answer["headers"] or {}).get("content-type", ""), answer.get("body") or ""
    assert 200 <= answer["statusCode"] < 500, answer
    assert not answer["isBase64Encoded"], answer
    assert "Traceback" not in body
    assert "site-packages" not in body
    for told in said(kind, body):
        sound(told)
    return answer


def said(kind: str, body: str) -> list[Any]:
    if not kind.startswith("text/event-stream"):
        return [json.loads(body)] if body else []
    return [json.loads(line.removeprefix("data: ")) for line in body.split("\n") if line.startswith("data: ")]


def sound(told: Any) -> None:
    """No error of ours, and no task that broke."""
    error = told.get("error") if isinstance(told, dict) else None
    code = error.get("code") if isinstance(error, dict) else 0
    assert code != INTERNAL, told
    assert not isinstance(code, int) or code < 500, told
    assert "TASK_STATE_FAILED" not in json.dumps(told)
    assert '"state": "failed"' not in json.dumps(told)


@fuzz(110)
@given(st.data())
def test_no_call_of_json_rpc_finds_a_fault_of_ours(stage: Stage, data: st.DataObject) -> None:
    method = data.draw(st.sampled_from(sorted(fuzz_strategies.METHODS)))
    call = {"jsonrpc": "2.0", "id": 1, "method": method, "params": fuzz_strategies.METHODS[method]}
    body = data.draw(bodies(call))
    answered(stage, data.draw(events("POST", "/", body, "" if "/" in method else "1.0")))


@fuzz(110)
@given(st.data())
def test_no_call_over_plain_http_finds_one(stage: Stage, data: st.DataObject) -> None:
    route = data.draw(st.sampled_from(sorted(fuzz_strategies.PATHS)))
    way, path = route.split(" ")
    shape = fuzz_strategies.PATHS[route]
    body = data.draw(bodies(shape)) if shape is not None or data.draw(st.booleans()) else None
    answered(stage, data.draw(events(way, data.draw(paths([path])), body, "" if path.startswith("/v1") else "1.0")))


@fuzz(80)
@given(st.data())
def test_no_call_of_a_tool_finds_one(stage: Stage, data: st.DataObject) -> None:
    method = data.draw(st.sampled_from(sorted(fuzz_strategies.MCP)))
    call = {"jsonrpc": "2.0", "id": 1, "method": method, "params": fuzz_strategies.MCP[method]}
    event = data.draw(events("POST", "/mcp", data.draw(bodies(call))))
    answered(stage, event)


@fuzz(80)
@given(st.data())
def test_no_method_at_no_path_finds_one(stage: Stage, data: st.DataObject) -> None:
    known = [route.split(" ")[1] for route in fuzz_strategies.PATHS]
    path = data.draw(paths(known) | fuzz_strategies.TEXTS.filter(lambda text: "\ud800" not in text).map("/".__add__))
    event = data.draw(events(data.draw(st.sampled_from(fuzz_strategies.HTTP_METHODS)), path, data.draw(bodies({}))))
    answered(stage, event)


@fuzz(40)
@given(st.data())
def test_no_call_through_the_door_that_streams_finds_one(stage: Stage, data: st.DataObject) -> None:
    """What is sent part by part is as sound as what is sent at once."""
    method = data.draw(st.sampled_from(["SendStreamingMessage", "message/stream", "SubscribeToTask", "GetTask"]))
    call = {"jsonrpc": "2.0", "id": 1, "method": method, "params": fuzz_strategies.METHODS[method]}
    event = data.draw(events("POST", "/", data.draw(bodies(call)), "" if "/" in method else "1.0"))
    parts: list[Any] = []
    stage.handler.stream(event, LocalLambdaContext(SECONDS), parts.append)
    start, *rest = parts
    assert 200 <= start["status"] < 500
    kind = dict(start["headers"]).get(b"content-type", b"").decode()
    for told in said(kind, b"".join(part.get("body", b"") for part in rest).decode()):
        sound(told)


CALL = {"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": fuzz_strategies.SENDING}
PACKED = {
    "/": CALL,
    "/message:send": fuzz_strategies.SENDING,
    "/v1/message:send": fuzz_strategies.REST_OLD,
    "/uploads": {"name": "a"},
    "/mcp": {"jsonrpc": "2.0", "id": 1, "method": "tools/list"},
}


@pytest.mark.parametrize("path", PACKED)
@pytest.mark.parametrize("pack", [gzip.compress, zlib.compress, lambda raw: gzip.compress(gzip.compress(raw))])
@pytest.mark.parametrize("bomb", [False, True])
def test_a_packed_body_is_never_unpacked(stage: Stage, path: str, pack: Any, bomb: bool) -> None:
    """Not even a good request, so not a bomb either: its bytes are no JSON, whatever its headers say."""
    body = pack(json.dumps(PACKED[path]).encode() + b" " * (50_000_000 if bomb else 0))
    headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
    headers |= auth_headers("alice") | ({} if path.startswith("/v1") else {"A2A-Version": "1.0"})
    before = stage.table_items()
    for encoding in ("gzip", "deflate", "gzip, gzip", "br", "identity"):
        event = rest_event("POST", path, body, {**headers, "Content-Encoding": encoding})
        answer = answered(stage, event)
        assert "error" in answer["body"]
        assert answer["statusCode"] >= 400 or path == "/"
    assert stage.table_items() == before


TOKENS = st.one_of(
    st.text(max_size=40),
    st.binary(max_size=40).map(lambda raw: base64.urlsafe_b64encode(raw).decode()),
    fuzz_strategies.ANYTHING.map(lambda after: json.dumps({"after": after})).map(
        lambda text: base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")
    ),
    st.text(max_size=300).map(
        lambda place: base64.urlsafe_b64encode(
            json.dumps({"after": f"2026-01-01T00:00:00.000000Z#{place}"}).encode()
        ).decode()
    ),
)


@fuzz(80)
@given(token=TOKENS, more=st.booleans())
def test_a_page_token_is_ours_or_refused(stage: Stage, token: str, more: bool) -> None:
    params = {"pageToken": token, **({"contextId": "c", "pageSize": 1} if more else {})}
    call = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "ListTasks", "params": params})
    headers = {"Content-Type": "application/json", "A2A-Version": "1.0", **auth_headers("bob")}
    told = json.loads(answered(stage, rest_event("POST", "/", call, headers))["body"])
    assert "result" not in told or told["result"].get("tasks", []) == []


@fuzz(200)
@given(
    bodies(fuzz_strategies.SENDING) | bodies(fuzz_strategies.REST_OLD) | st.text(max_size=30) | st.binary(max_size=30)
)
def test_a_body_is_read_or_said_to_be_unreadable(body: str | bytes | None) -> None:
    """And one that is read is one that all readers agree on: it is JSON, and the same when it is read again."""
    raw = body.encode("utf-8", "surrogatepass") if isinstance(body, str) else body or b""
    normalize_event(
        {"requestContext": {}, "path": "/", "body": base64.b64encode(raw).decode(), "isBase64Encoded": True}, ""
    )
    try:
        said, written = parse_body(raw)
    except JsonBodyError:
        return
    with contextlib.suppress(InvalidParamsError):
        validate_file_parts(said)
    assert parse_body(written)[1] == written or "\uf8ffjson:" in written.decode()


@fuzz(200)
@given(
    st.text(max_size=300) | st.sampled_from(fuzz_strategies.ODD_VALUES),
    st.sampled_from(["text/csv", "application/pdf", "a/b"]),
)
def test_no_name_of_a_file_gets_out_of_its_header(name: str, kind: str) -> None:
    said = content_disposition(sanitize_file_name(name), kind)
    assert said.isascii()
    assert said.isprintable()
    assert said.count('"') == 2
    found = choose_file_name(said, "http://a.test/", kind)
    assert found == sanitize_file_name(name)


PIECES = [
    "data:",
    ",",
    ";",
    "base64",
    ";base64",
    "name=",
    "%",
    "%00",
    "%ff",
    "=",
    "YQ==",
    "-_",
    "+/",
    "text/plain",
    "../",
    "\0",
]


@fuzz(200)
@given(st.lists(st.sampled_from(PIECES) | st.text(max_size=3), max_size=8).map("".join), st.text(max_size=5))
def test_a_data_uri_is_a_file_with_a_safe_name_or_refused(tail: str, name: str) -> None:
    try:
        file = read_source("data:" + tail, name=name, max_bytes=1_000)
    except FileRejected:
        return
    assert file.name == sanitize_file_name(file.name)
    assert sanitize_media_type(file.media_type) == file.media_type


@fuzz(200)
@given(
    st.binary(max_size=40), st.lists(st.tuples(st.integers(0, 60), st.sampled_from(list(" \n=-_+/?%é\0A"))), max_size=3)
)
def test_base64_that_was_changed_is_read_exactly_or_refused(content: bytes, changes: list[tuple[int, str]]) -> None:
    """No sign that is none of base64 is passed over."""
    text = base64.b64encode(content).decode()
    for place, sign in changes:
        text = text[:place] + sign + text[place:]
    try:
        file = read_source(text or " ")
    except FileRejected:
        return
    kept = "".join(text.split()).rstrip("=").translate(str.maketrans("-_", "+/"))
    assert isinstance(file.content, bytes)
    again = base64.b64encode(file.content).decode().rstrip("=")
    assert again[:-1] == kept[: len(again)][:-1]
    assert len(again) == len(kept)
