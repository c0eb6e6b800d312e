"""Protocol 0.3 where its layer in the sdk is not exact: errors, defaults and limits of its own."""

import json
from typing import Any

import pytest

from agentfn.testing import ScriptedModel, Stage
from support.protocol_clients import V0_3_CLIENTS, ProtocolClient

RPC, HTTP = V0_3_CLIENTS
EACH = pytest.mark.parametrize("speaker", V0_3_CLIENTS, ids=str)
HI = {"text": "Hi!"}
MESSAGE = {"kind": "message", "messageId": "m", "role": "user", "parts": [{"kind": "text", "text": "Hi!"}]}


def rpc(stage: Stage, method: str, params: Any, **rest: Any) -> Any:
    body = {"jsonrpc": "2.0", "id": 7, "method": method, "params": params}
    return RPC.post(stage, "/", json.dumps(body), **rest)


BAD_PARAMS = [
    ("no id to get", "tasks/get", {}, "params.id"),
    ("an id that is a number", "tasks/get", {"id": 7}, "params.id"),
    ("a length in words", "tasks/get", {"id": "x", "historyLength": "many"}, "params.historyLength"),
    ("a length below nought", "tasks/get", {"id": "x", "historyLength": -1}, "history length"),
    ("params that are a list", "tasks/cancel", [1], "params"),
    ("nothing to subscribe to", "tasks/resubscribe", {}, "params.id"),
    ("no message", "message/send", {}, "params.message"),
    ("no parts", "message/send", {"message": {**MESSAGE, "parts": None}}, "params.message.parts"),
    ("no role", "message/send", {"message": {**MESSAGE, "role": "boss"}}, "params.message.role"),
    ("no text", "message/stream", {"message": {**MESSAGE, "parts": [{"kind": "text"}]}}, "TextPart.text"),
    ("half a file", "message/send", {"message": {**MESSAGE, "parts": [{"kind": "file"}]}}, "FilePart.file"),
    (
        "a value that is not there",
        "message/send",
        {"message": {**MESSAGE, "parts": [{"kind": "data", "data": {}, "metadata": {"data_part_compat": True}}]}},
        "cannot be read",
    ),
    ("no subscriber", "tasks/pushNotificationConfig/set", {"taskId": "x"}, "params.pushNotificationConfig"),
    ("nothing to delete", "tasks/pushNotificationConfig/delete", {"id": "x"}, "pushNotificationConfigId"),
]


@pytest.mark.parametrize(
    ("method", "params", "named"), [case[1:] for case in BAD_PARAMS], ids=[c[0] for c in BAD_PARAMS]
)
def test_bad_parameters_are_invalid_parameters_by_name(play: Any, method: str, params: Any, named: str) -> None:
    stage = play(ScriptedModel())
    refused = rpc(stage, method, params)
    assert (refused.events[0]["error"]["code"], refused.events[0]["id"]) == (-32602, 7)
    assert named in refused.message
    assert stage.table_items() == []


def test_what_is_no_json_rpc_is_an_invalid_request_still(play: Any) -> None:
    stage = play(ScriptedModel())
    bodies: list[Any] = [
        {"method": "tasks/get"},
        {"jsonrpc": "2.0", "method": "tasks/get", "params": {"id": "x"}},
        {"jsonrpc": "1.0", "id": 1, "method": "tasks/get", "params": {}},
        [],
    ]
    for body in bodies:
        assert RPC.post(stage, "/", json.dumps(body)).events[0]["error"]["code"] == -32600


BAD_MESSAGES: dict[str, Any] = {
    "a list": [1],
    "no message": {},
    "a part without content": {"message": {"messageId": "m", "role": "ROLE_USER", "content": [{}]}},
    "a role that is none": {"message": {"messageId": "m", "role": "ROLE_BOSS", "content": [HI]}},
    "parts that are none": {"message": {"messageId": "m", "role": "ROLE_USER", "content": "Hi!"}},
}


@pytest.mark.parametrize("path", ["/v1/message:send", "/v1/message:stream"])
@pytest.mark.parametrize("case", BAD_MESSAGES)
def test_bad_messages_over_http_are_the_caller_s_fault(play: Any, path: str, case: str) -> None:
    refused = HTTP.post(play(ScriptedModel(), streaming=True), path, json.dumps(BAD_MESSAGES[case]))
    assert refused.error == "INVALID_PARAMS"


@pytest.mark.parametrize("length", ["many", "-1", "1.5", "9" * 50])
def test_a_length_that_is_none_is_the_caller_s_fault(play: Any, length: str) -> None:
    refused = HTTP.call(play(ScriptedModel()), "get", "x", query=f"historyLength={length}")
    assert refused.error == "INVALID_PARAMS"
    assert "historyLength" in refused.message


@EACH
def test_a_history_of_length_nought_is_none(play: Any, speaker: ProtocolClient) -> None:
    stage = play(ScriptedModel("Hello."))
    sent = speaker.task(speaker.send(stage, HI, configuration={"historyLength": 0}))
    assert "history" not in sent
    none = {"query": "historyLength=0"} if speaker.rest else {"historyLength": 0}
    assert "history" not in speaker.call(stage, "get", sent["id"], **none).result
    one = {"query": "historyLength=1"} if speaker.rest else {"historyLength": 1}
    for some in (one, {}):
        assert len(speaker.call(stage, "get", sent["id"], **some).result["history"]) == 1


@EACH
def test_a_stream_too_shows_no_history_where_none_is_asked_for(play: Any, speaker: ProtocolClient) -> None:
    stage = play(ScriptedModel("Hello.", "Hello."), streaming=True)
    for configuration, shown in (({"historyLength": 0}, False), ({}, True)):
        asked = speaker.request(HI, configuration=configuration)
        first = speaker.stream(stage, "stream", asked).events[0]
        task = first.get("result", first.get("task"))
        assert ("history" in task) == shown


def test_a_subscriber_is_read_without_his_id(play: Any) -> None:
    stage = play(ScriptedModel(), fetch_loopback="true")
    task_id = RPC.task(RPC.send(stage, HI, configuration={"returnImmediately": True}))["id"]
    assert RPC.call(stage, "push get", task_id).error == "TASK_NOT_FOUND"
    for config in ("one", "two"):
        RPC.call(stage, "push set", task_id, body=RPC.push_config(task_id, "http://127.0.0.1:9999/", config))
    read = RPC.call(stage, "push get", task_id).result
    assert (read["taskId"], read["pushNotificationConfig"]["id"]) == (task_id, "one")


@EACH
def test_a_stream_s_error_is_told_once_it_has_begun_too(play: Any, speaker: ProtocolClient) -> None:
    stage = play(ScriptedModel(), streaming=True)
    refused = speaker.stream(stage, "subscribe", None, "none")
    assert refused.error == "TASK_NOT_FOUND"
    assert refused.content_type.startswith("application/json" if speaker.rest else "text/event-stream")


def test_an_old_method_in_a_new_version_is_refused_by_both_names(play: Any) -> None:
    refused = rpc(play(ScriptedModel()), "tasks/get", {"id": "x"}, version="1.0")
    assert refused.error == "VERSION_NOT_SUPPORTED"
    assert "tasks/get" in refused.message
    assert "1.0" in refused.message
