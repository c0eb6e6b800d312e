"""What a caller can get wrong: a clear error in the protocol's form, nothing stored, nothing leaked."""

import json
from typing import Any

import pytest

from agentfn.testing import RpcError, ScriptedModel, Stage

JSON = {"Content-Type": "application/json", "A2A-Version": "1.0"}


def post(stage: Stage, body: str, headers: dict[str, str] = JSON) -> Any:
    answer = stage.request("POST", "/", caller="alice", body=body, headers=headers)
    assert answer["statusCode"] == 200
    error = json.loads(answer["body"])["error"]
    assert "Traceback" not in answer["body"]
    return error


def rpc(method: Any, params: Any = None, **rest: Any) -> str:
    return json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params or {}, **rest})


def message(**rest: Any) -> dict[str, Any]:
    return {"message": {"messageId": "m", "role": "ROLE_USER", "parts": [{"text": "Hi!"}], **rest}}


@pytest.fixture
def stage(play: Any) -> Stage:
    stage: Stage = play(ScriptedModel("Never said."), max_file_size=1_000, max_files=2, max_text_chars=500)
    return stage


REQUESTS = [
    ("not JSON", "{", -32700),
    ("no JSON at all", "", -32700),
    ("a list", "[]", -32600),
    ("a batch", json.dumps([{"jsonrpc": "2.0", "id": 1, "method": "GetTask"}]), -32600),
    ("a number", "7", -32600),
    ("no version of JSON-RPC", json.dumps({"id": 1, "method": "GetTask"}), -32600),
    ("an unknown method", rpc("DoMyTaxes"), -32601),
    ("an unknown old method", rpc("tasks/destroy"), -32601),
    ("no id to get", rpc("GetTask"), -32602),
    ("params of a wrong type", rpc("GetTask", [1]), -32602),
    ("no message", rpc("SendMessage"), -32602),
    ("no message id", rpc("SendMessage", message(messageId="")), -32602),
    ("no parts", rpc("SendMessage", message(parts=[])), -32602),
    ("blank text", rpc("SendMessage", message(parts=[{"text": "  "}])), -32602),
    ("an empty part", rpc("SendMessage", message(parts=[{}])), -32602),
    ("an agent's role", rpc("SendMessage", message(role="ROLE_AGENT")), -32602),
    ("bad base64", rpc("SendMessage", message(parts=[{"raw": "?", "filename": "a.csv"}])), -32602),
    ("an empty file", rpc("SendMessage", message(parts=[{"raw": "", "filename": "a.csv"}])), -32602),
    ("a bad data URI", rpc("SendMessage", message(parts=[{"url": "data:text/csv;base64,?"}])), -32602),
    ("an address", rpc("SendMessage", message(parts=[{"url": "http://169.254.169.254/"}])), -32602),
    ("a file address", rpc("SendMessage", message(parts=[{"url": "file:///etc/passwd"}])), -32005),
    ("a large file", rpc("SendMessage", message(parts=[{"raw": "YWFh" * 400}])), -32602),
    ("many files", rpc("SendMessage", message(parts=[{"raw": "YQ=="}] * 3)), -32602),
    ("long text", rpc("SendMessage", message(parts=[{"text": "x" * 501}])), -32602),
    ("a long id", rpc("SendMessage", message(messageId="x" * 300)), -32602),
    ("an unknown task", rpc("SendMessage", message(taskId="none")), -32001),
    ("an unknown skill", rpc("SendMessage", message(metadata={"skill": "juggling"})), -32602),
    ("a negative history", rpc("GetTask", {"id": "x", "historyLength": -1}), -32602),
    ("a large page", rpc("ListTasks", {"pageSize": 1000}), -32602),
    ("a made-up page token", rpc("ListTasks", {"pageToken": "abc"}), -32602),
    ("a stream", rpc("SendStreamingMessage", message()), -32004),
    ("a subscription", rpc("SubscribeToTask", {"id": "x"}), -32004),
    ("a push config", rpc("CreateTaskPushNotificationConfig", {"taskId": "x", "url": "https://a.example"}), -32001),
]


@pytest.mark.parametrize(("body", "code"), [case[1:] for case in REQUESTS], ids=[case[0] for case in REQUESTS])
def test_a_request_that_cannot_be_served_has_its_error_and_leaves_nothing(stage: Stage, body: str, code: int) -> None:
    assert post(stage, body)["code"] == code
    assert stage.table_items() == []
    assert stage.receive_messages() == []
    assert stage.aws_calls["PutObject"] == 0


@pytest.mark.parametrize("version", ["2.0", "0.1", "one", "99999999999999999999.0"])
def test_a_version_that_is_not_spoken_is_refused_by_name(stage: Stage, version: str) -> None:
    error = post(stage, rpc("GetTask", {"id": "x"}), {**JSON, "A2A-Version": version})
    assert error["code"] == -32009
    assert version in error["message"]


def test_a_body_of_30_mb_is_refused_before_it_is_parsed(stage: Stage) -> None:
    body = rpc("SendMessage", message(parts=[{"raw": "YWFh" * 10_000_000}]))
    error = post(stage, body)
    assert error["code"] == -32600
    assert "allowed" in error["message"]


@pytest.mark.parametrize("content_length", ["", "0", "minus one"])
def test_a_large_body_is_refused_whatever_its_length_header_says(play: Any, content_length: str) -> None:
    stage = play(ScriptedModel("Never said."), max_body_size=10_000)
    body = rpc("SendMessage", message(parts=[{"text": "x" * 20_000}]))
    error = post(stage, body, {**JSON, "Content-Length": content_length})
    assert error["code"] == -32600


def test_a_broken_agent_tells_the_caller_no_more_than_a_reference(play: Any) -> None:
    stage = play(ScriptedModel(ZeroDivisionError("secret internals")))
    task = stage.send("Hi!")
    assert task["status"]["state"] == "TASK_STATE_FAILED"
    text = task["status"]["message"]["parts"][0]["text"]
    assert task["id"] in text
    assert "secret" not in str(task)


def test_a_lost_table_is_an_internal_error_with_a_reference(play: Any) -> None:
    from agentfn.aws_clients import aws_client

    stage = play(ScriptedModel("Never said."))
    aws_client("dynamodb").delete_table(TableName=stage.resources.table)
    with pytest.raises(RpcError, match=r"Internal error \(request [0-9a-f-]{36}\)") as error:
        stage.get("x")
    assert error.value.code == -32603
