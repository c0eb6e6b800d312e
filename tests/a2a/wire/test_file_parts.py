"""A file by each of its sources, in both protocols: the same bytes, name and type; and what is no source."""

import base64
import hashlib
import json
import os
from collections.abc import Callable
from typing import Any

import pytest
import requests

from agentfn import Agent, Context, InputFile, tool
from agentfn.testing import RpcError, ScriptedModel, Stage, calls
from support.raw_http_server import RawHttpServer, http_response

pytestmark = pytest.mark.slow

CONTENT = bytes(range(256)) + b"\n\xff\xfe"
NAME, KIND = "Bericht é.bin", "application/x-report"
TEXT = base64.b64encode(CONTENT).decode()


@tool(idempotent=True)
def inspect(context: Context, file: InputFile) -> str:
    """Tells what reached it."""
    [info] = context.files
    return json.dumps([file.name, hashlib.sha256(file.read_bytes()).hexdigest(), info.media_type, info.size])


AGENT = Agent(name="clerk", description="A clerk.", tools=[inspect])
REACHED = [NAME, hashlib.sha256(CONTENT).hexdigest(), KIND, len(CONTENT)]


def new(part: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """A message of protocol 1.0 with the file in it."""
    part = {**part, "filename": NAME, "mediaType": KIND}
    return "SendMessage", {"messageId": os.urandom(4).hex(), "role": "ROLE_USER", "parts": [part]}


def old(file: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """A message of protocol 0.3 with the file in it."""
    parts = [{"kind": "file", "file": {**file, "name": NAME, "mimeType": KIND}}]
    return "message/send", {"kind": "message", "messageId": os.urandom(4).hex(), "role": "user", "parts": parts}


SOURCES: list[tuple[str, Callable[[str], tuple[str, dict[str, Any]]]]] = [
    ("raw", lambda _: new({"raw": TEXT})),
    ("raw for URLs", lambda _: new({"raw": base64.urlsafe_b64encode(CONTENT).decode().rstrip("=")})),
    ("raw in lines", lambda _: new({"raw": base64.encodebytes(CONTENT).decode()})),
    ("bytes", lambda _: old({"bytes": TEXT})),
    ("bytes in lines", lambda _: old({"bytes": base64.encodebytes(CONTENT).decode()})),
    ("data as a url", lambda _: new({"url": f"data:text/plain;base64,{TEXT}"})),
    ("data as a uri", lambda _: old({"uri": f"data:text/plain;base64,{TEXT}"})),
    ("an address as a url", lambda url: new({"url": f"{url}/other.txt"})),
    ("an address as a uri", lambda url: old({"uri": f"{url}/other.txt"})),
    ("an upload as a url", lambda _: new({"url": "upload:"})),
    ("an upload as a uri", lambda _: old({"uri": "upload:"})),
]


@pytest.mark.parametrize("source", [source[1] for source in SOURCES], ids=[source[0] for source in SOURCES])
def test_every_source_gives_the_tool_the_same_file(source: Callable[[str], tuple[str, dict[str, Any]]]) -> None:
    model = ScriptedModel(calls("inspect", file=NAME), "Seen.")
    with (
        RawHttpServer(http_response(CONTENT, "Content-Type: text/plain")) as server,
        Stage(AGENT, model, fetch_loopback=True) as stage,
    ):
        method, message = source(server.url)
        message = json.loads(json.dumps(message).replace('"upload:"', f'"{uploaded(stage)}"'))
        stage.rpc(method, {"message": message})
    assert json.loads(model.requests[-1].turns[-1].text) == REACHED


def uploaded(stage: Stage) -> str:
    """The address of an upload that was called something else."""
    asked = stage.request("POST", "/uploads", caller="alice", body='{"name": "x.txt"}')
    offer = json.loads(asked["body"])
    requests.post(offer["url"], data=offer["fields"], files={"file": CONTENT}, timeout=5).raise_for_status()
    return str(offer["part"]["url"])


BROKEN = [
    ("raw that is no base64", new({"raw": "?"})),
    ("raw with a hole", new({"raw": f"{TEXT[:8]}?{TEXT[8:]}"})),
    ("raw that goes on after its end", new({"raw": f"{TEXT}YWJj"})),
    ("bytes that are no base64", old({"bytes": "?"})),
    ("bytes with a hole", old({"bytes": f"{TEXT[:8]}?{TEXT[8:]}"})),
    ("bytes without their end", old({"bytes": "YQ"})),
    ("bytes for URLs", old({"bytes": "_-8="})),
    ("data that is no base64", new({"url": "data:text/csv;base64,?"})),
    ("old data that is no base64", old({"uri": "data:text/csv;base64,?"})),
    ("raw and url", new({"raw": TEXT, "url": "data:,x"})),
    ("raw and text", new({"raw": TEXT, "text": "x"})),
    ("bytes and uri", old({"bytes": TEXT, "uri": "data:,x"})),
    ("no content", new({})),
    ("neither bytes nor uri", old({})),
    ("neither, said so", old({"bytes": None, "uri": None})),
    ("empty raw", new({"raw": ""})),
    ("empty bytes", old({"bytes": ""})),
    ("large raw", new({"raw": "YWJj" * 200})),
    ("large bytes", old({"bytes": "YWJj" * 200})),
    ("large data", new({"url": f"data:,{'x' * 600}"})),
    ("large old data", old({"uri": f"data:,{'x' * 600}"})),
    ("an upload that is none", new({"url": "upload:0"})),
    ("an old upload that is none", old({"uri": "upload:0"})),
]


@pytest.mark.parametrize(("method", "message"), [case[1] for case in BROKEN], ids=[case[0] for case in BROKEN])
def test_what_is_no_source_is_refused_and_nothing_is_stored(method: str, message: dict[str, Any]) -> None:
    with Stage(AGENT, ScriptedModel(), max_file_size=500) as stage:
        with pytest.raises(RpcError) as refused:
            stage.rpc(method, {"message": message})
        assert (refused.value.code, stage.table_items(), stage.receive_messages()) == (-32602, [], [])
        assert (stage.aws_calls["PutObject"], stage.aws_calls["CopyObject"]) == (0, 0)


@pytest.mark.parametrize(
    ("path", "parts"),
    [
        ("/message:send", {"parts": [{"raw": "YQ?=", "filename": "a.txt"}]}),
        ("/v1/message:send", {"content": [{"file": {"fileWithBytes": "YQ?=", "name": "a.txt"}}]}),
        ("/v1/message:send", {"content": [{"file": {"name": "a.txt"}}]}),
    ],
)
def test_over_plain_http_it_is_a_bad_request(path: str, parts: dict[str, Any]) -> None:
    version = {"A2A-Version": "1.0"} if path == "/message:send" else {}
    body = json.dumps({"message": {"messageId": "m", "role": "ROLE_USER", **parts}})
    with Stage(AGENT, ScriptedModel()) as stage:
        reply = stage.request(
            "POST", path, caller="alice", body=body, headers={"Content-Type": "application/json", **version}
        )
        assert (reply["statusCode"], stage.table_items()) == (400, [])
    assert json.loads(reply["body"])["error"]["status"] == "INVALID_ARGUMENT"


@pytest.mark.parametrize(
    ("path", "parts"),
    [
        ("/message:send", {"parts": [{"raw": "YQ", "filename": "a.txt"}]}),
        ("/v1/message:send", {"content": [{"file": {"fileWithBytes": "WVE9PQ==", "name": "a.txt"}}]}),  # twice, there
    ],
)
def test_over_plain_http_good_files_are_taken_too(path: str, parts: dict[str, Any]) -> None:
    version = {"A2A-Version": "1.0"} if path == "/message:send" else {}
    body = json.dumps({"message": {"messageId": "m", "role": "ROLE_USER", **parts}})
    model = ScriptedModel("Seen.")
    with Stage(AGENT, model) as stage:
        headers = {"Content-Type": "application/json", **version}
        assert stage.request("POST", path, caller="alice", body=body, headers=headers)["statusCode"] == 200
    assert "a.txt (text/plain, 1 bytes)" in model.requests[0].turns[0].text


@pytest.mark.parametrize(("given", "told"), [(7, 7), ("seven", "seven"), (None, None), ([7], None), ({}, None)])
def test_the_refusal_has_the_request_s_id(given: Any, told: Any) -> None:
    method, message = new({"raw": "?"})
    body = json.dumps({"jsonrpc": "2.0", "id": given, "method": method, "params": {"message": message}})
    with Stage(AGENT, ScriptedModel()) as stage:
        reply = stage.request("POST", "/", caller="alice", body=body, headers={"A2A-Version": "1.0"})
    assert json.loads(reply["body"])["id"] == told


@pytest.mark.parametrize("body", ["", "{", "[]", '{"params": 1, "file": 2}', '{"file": "' + "[" * 9_000, '"raw"'])
def test_a_body_that_is_no_message_is_refused_as_what_it_is(body: str) -> None:
    with Stage(AGENT, ScriptedModel()) as stage:
        headers = {"Content-Type": "application/json", "A2A-Version": "1.0"}
        reply = stage.request("POST", "/", caller="alice", body=body, headers=headers)
    assert json.loads(reply["body"])["error"]["code"] in (-32700, -32600)
