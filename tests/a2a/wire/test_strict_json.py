"""Bodies that readers of JSON do not agree on, and what is said of the protocol around them."""

import json
from typing import Any

import pytest

from agentfn.testing import ScriptedModel, Stage
from support.protocol_clients import CLIENTS, ProtocolClient

pytestmark = pytest.mark.slow

EACH = pytest.mark.parametrize("speaker", CLIENTS, ids=str)
HI = {"text": "Hi!"}
DEEP = "[" * 50_000

UNREADABLE = {
    "no JSON": ("{", "property name"),
    "nothing": ("", "Expecting value"),
    "NaN": ('{"data": NaN}', "NaN"),
    "infinity": ('{"data": -Infinity}', "Infinity"),
    "beyond a double": ('{"data": 1e400}', "1e400"),
    "a number of 10,000 digits": (f'{{"id": {"9" * 10_000}}}', "10,000 digits"),
    "a member twice": ('{"id": 1, "params": {"message": 1, "message": 2}}', '"message" twice'),
    "half a character": ('{"id": "\\ud83d"}', "surrogate"),
    "no end of depth": (DEEP, "too deep"),
    "two bodies": ("{}{}", "Extra data"),
}


@EACH
@pytest.mark.parametrize("case", UNREADABLE)
def test_a_body_that_cannot_be_read_is_a_parse_error_that_says_why(
    play: Any, speaker: ProtocolClient, case: str
) -> None:
    stage: Stage = play(ScriptedModel(), streaming=True)
    body, why = UNREADABLE[case]
    paths = ["/message:send", "/message:stream", "/tasks/x/pushNotificationConfigs"] if speaker.rest else ["/"]
    for path in paths:
        refused = speaker.post(stage, ("/v1" if speaker.rest and speaker.v0_3 else "") + path, body)
        assert refused.error == ("INVALID_REQUEST" if speaker.rest else "PARSE_ERROR")
        assert why in refused.message
    assert stage.table_items() == []


@EACH
def test_data_nested_too_deep_is_the_caller_s_fault(play: Any, speaker: ProtocolClient) -> None:
    deep: Any = 1
    for _ in range(200):
        deep = [deep]
    stage = play(ScriptedModel())
    refused = speaker.send(stage, {"data": {"deep": deep}})
    assert refused.error in ("INVALID_PARAMS", "INVALID_REQUEST")
    assert stage.table_items() == []


@EACH
@pytest.mark.parametrize("version", ["9.9", "2.0", "one", "-1"])
def test_a_version_that_is_not_spoken_is_refused_by_name(play: Any, speaker: ProtocolClient, version: str) -> None:
    stage = play(ScriptedModel())
    for reply in (
        speaker.send(stage, HI, version=version),
        speaker.call(stage, "get", "x", version=version),
        speaker.call(stage, "subscribe", "x", version=version),
    ):
        assert reply.error == "VERSION_NOT_SUPPORTED"
        assert version in reply.message
    assert stage.table_items() == []


def test_the_version_may_stand_in_the_address(play: Any) -> None:
    speaker = ProtocolClient(False, True)
    stage = play(ScriptedModel("Hello."))
    task = speaker.task(speaker.send(stage, HI))
    assert speaker.call(stage, "get", task["id"], version="", query="A2A-Version=1.0").result == task
    assert speaker.call(stage, "list", version="", query="A2A-Version=1.0&pageSize=1").result["totalSize"] == 1
    refused = speaker.call(stage, "get", task["id"], version="", query="A2A-Version=9.9")
    assert refused.error == "VERSION_NOT_SUPPORTED"
    assert speaker.call(stage, "get", task["id"], version="").error == "VERSION_NOT_SUPPORTED"


@EACH
@pytest.mark.parametrize("header", ["A2A-Extensions", "X-A2A-Extensions"])
def test_an_extension_that_the_agent_has_not_is_passed_over_and_not_claimed(
    play: Any, speaker: ProtocolClient, header: str
) -> None:
    stage = play(ScriptedModel("Hello."))
    asked = {header: "https://a.example/ext/v1, https://b.example/ext/v2"}
    assert speaker.state(speaker.task(speaker.send(stage, HI, headers=asked))) == "completed"
    path = ("/v1" if speaker.v0_3 else "") + "/message:send" if speaker.rest else "/"
    body = json.dumps(speaker.request(HI)) if speaker.rest else speaker.rpc("send", speaker.request(HI))
    version = {} if speaker.v0_3 else {"A2A-Version": "1.0"}
    answer = stage.request("POST", path, caller="alice", body=body, headers=asked | version)
    assert not [name for name in answer["headers"] if "extensions" in name.lower()]


def test_what_is_not_the_protocol_s_passes_by(play: Any) -> None:
    stage = play(ScriptedModel())
    assert stage.request("GET", "/health", headers={"A2A-Version": "9.9"})["statusCode"] == 200
    assert stage.request("GET", "/nowhere", caller="alice", headers={"A2A-Version": "9.9"})["statusCode"] == 404
