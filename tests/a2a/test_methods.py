"""Every method, in every dialect, over every binding."""

import json
from typing import Any

import pytest

from agentfn.testing import ScriptedModel, calls
from support.protocol_clients import CLIENTS, RPC_METHODS, V0_3_CLIENTS, V1_CLIENTS, ProtocolClient

EACH = pytest.mark.parametrize("speaker", CLIENTS, ids=str)
EACH_NEW = pytest.mark.parametrize("speaker", V1_CLIENTS, ids=str)
EACH_OLD = pytest.mark.parametrize("speaker", V0_3_CLIENTS, ids=str)
HI = {"text": "Hi!"}


@EACH
def test_a_message_becomes_a_task_that_can_be_read(play: Any, speaker: ProtocolClient) -> None:
    stage = play(ScriptedModel("Hello."))
    sent = speaker.task(speaker.send(stage, HI))
    assert speaker.state(sent) == "completed"
    read = speaker.call(stage, "get", sent["id"]).result
    assert read == sent
    assert [message["messageId"] for message in read["history"]] == [sent["history"][0]["messageId"]]


@EACH
def test_who_does_not_wait_is_answered_before_the_model_is_asked(play: Any, speaker: ProtocolClient) -> None:
    model = ScriptedModel("Hello.")
    stage = play(model)
    sent = speaker.task(speaker.send(stage, HI, configuration={"returnImmediately": True}))
    assert speaker.state(sent) == "submitted"
    assert not model.requests
    stage.drain_queue()
    assert speaker.state(speaker.call(stage, "get", sent["id"]).result) == "completed"


@EACH_NEW
def test_tasks_are_listed(play: Any, speaker: ProtocolClient) -> None:
    stage = play(ScriptedModel("Hello.", "Hello."))
    ids = [speaker.task(speaker.send(stage, HI))["id"] for _ in range(2)]
    listed = speaker.call(stage, "list").result
    assert [task["id"] for task in listed["tasks"]] == ids[::-1]
    assert listed["totalSize"] == 2


@EACH_OLD
def test_the_old_dialect_has_no_list_of_tasks(play: Any, speaker: ProtocolClient) -> None:
    error = "VERSION_NOT_SUPPORTED" if speaker.rest else "METHOD_NOT_FOUND"
    assert speaker.call(play(ScriptedModel()), "list").error == error


@EACH
def test_a_task_is_cancelled_once(play: Any, speaker: ProtocolClient) -> None:
    stage = play(ScriptedModel())
    task = speaker.task(speaker.send(stage, HI, configuration={"returnImmediately": True}))
    assert speaker.state(speaker.call(stage, "cancel", task["id"]).result) == "canceled"
    assert speaker.call(stage, "cancel", task["id"]).error == "TASK_NOT_CANCELABLE"


@EACH
def test_a_stream_tells_the_task_first_and_its_end_last(play: Any, speaker: ProtocolClient) -> None:
    stage = play(ScriptedModel("Hello."), streaming=True)
    first, *_, last = [_bare(event) for event in speaker.stream(stage, "stream", speaker.request(HI)).events]
    assert speaker.state(first.get("task", first)) in ("submitted", "working")
    assert speaker.state(last.get("statusUpdate", last)) == "completed"
    assert speaker.rest or not speaker.v0_3 or (first["kind"], last["final"]) == ("task", True)


@EACH
def test_a_subscription_begins_with_the_task_as_it_is(play: Any, speaker: ProtocolClient) -> None:
    stage = play(ScriptedModel("Hello."), streaming=True)
    task = speaker.task(speaker.send(stage, HI, configuration={"returnImmediately": True}))
    first, *_ = speaker.stream(stage, "subscribe", None, task["id"], seconds=2).events
    shown = _bare(first)
    assert shown.get("task", shown)["id"] == task["id"]
    speaker.call(stage, "cancel", task["id"])
    ended = speaker.stream(stage, "subscribe", None, task["id"])
    assert ended.error == "UNSUPPORTED_OPERATION"


@EACH
def test_a_stream_that_is_not_offered_is_unsupported_and_not_empty(play: Any, speaker: ProtocolClient) -> None:
    stage = play(ScriptedModel())
    for what, params in (("stream", speaker.request(HI)), ("subscribe", None)):
        refused = speaker.stream(stage, what, params, "x")
        assert refused.error == "UNSUPPORTED_OPERATION"
        assert refused.content_type.startswith("application/json")
    buffered = speaker.call(stage, "subscribe", "x")
    assert buffered.error == "UNSUPPORTED_OPERATION"
    assert "does not stream" in buffered.message


@EACH
def test_a_subscriber_is_set_read_listed_and_deleted(play: Any, speaker: ProtocolClient) -> None:
    stage = play(ScriptedModel(), fetch_loopback="true")
    url = "http://127.0.0.1:9999/hook"
    task_id = speaker.task(speaker.send(stage, HI, configuration={"returnImmediately": True}))["id"]
    for config in ("one", "two"):
        made = speaker.call(stage, "push set", task_id, body=speaker.push_config(task_id, url, config))
        assert url in made.text
    one = speaker.call(stage, "push get", task_id, config="one")
    assert "one" in one.text
    listed = speaker.call(stage, "push list", task_id).result
    assert len(listed if isinstance(listed, list) else listed["configs"]) == 2
    deleted = speaker.call(stage, "push delete", task_id, config="one")
    if speaker.rest:
        assert (deleted.status, deleted.text) == ((204, "") if speaker.v0_3 else (200, "{}"))
    else:
        assert json.loads(deleted.text) == {"jsonrpc": "2.0", "id": 1, "result": None}
    assert speaker.call(stage, "push get", task_id, config="one").error == "TASK_NOT_FOUND"


@EACH
def test_subscribers_are_refused_by_an_agent_that_sends_nothing(play: Any, speaker: ProtocolClient) -> None:
    stage = play(ScriptedModel("Hello."), push="false")
    task_id = speaker.task(speaker.send(stage, HI))["id"]
    asked: list[tuple[str, dict[str, Any]]] = [
        ("push set", {"body": speaker.push_config(task_id, "https://a.example", "a")}),
        ("push get", {"config": "a"}),
        ("push list", {}),
        ("push delete", {"config": "a"}),
    ]
    for what, rest in asked:
        assert speaker.call(stage, what, task_id, **rest).error == "PUSH_NOTIFICATION_NOT_SUPPORTED", what


@EACH
def test_without_an_extended_card_the_error_is_the_dialect_s_own(play: Any, speaker: ProtocolClient) -> None:
    error = "EXTENDED_AGENT_CARD_NOT_CONFIGURED" if speaker.v0_3 else "UNSUPPORTED_OPERATION"
    assert speaker.call(play(ScriptedModel()), "card").error == error


@EACH
def test_a_task_that_is_not_there_and_another_s_are_the_same(play: Any, speaker: ProtocolClient) -> None:
    stage = play(ScriptedModel("Hello."), streaming=True)
    theirs = speaker.task(speaker.send(stage, HI))["id"]
    for what in ("get", "cancel", "subscribe"):
        for caller, task_id in (("alice", "none"), ("bob", theirs)):
            refused = speaker.call(stage, what, task_id, caller=caller)
            assert refused.error == "TASK_NOT_FOUND", (what, refused.text)
    assert speaker.send(stage, HI, taskId="none").error == "TASK_NOT_FOUND"


@EACH
def test_a_follow_up_goes_on_and_takes_its_context_from_the_task(play: Any, speaker: ProtocolClient) -> None:
    stage = play(ScriptedModel(calls("ask_user", question="Which?"), "The red one."))
    asking = speaker.task(speaker.send(stage, HI))
    assert speaker.state(asking) == "input_required"
    elsewhere = speaker.send(stage, {"text": "Red."}, taskId=asking["id"], contextId="another")
    assert elsewhere.error == "INVALID_PARAMS"
    assert "another context" in elsewhere.message
    done = speaker.task(speaker.send(stage, {"text": "Red."}, taskId=asking["id"]))
    assert (speaker.state(done), done["contextId"]) == ("completed", asking["contextId"])
    late = speaker.send(stage, {"text": "Blue."}, taskId=asking["id"])
    assert late.error == "UNSUPPORTED_OPERATION"
    assert "start a new task with the same contextId" in late.message


@pytest.mark.parametrize("version", ["", "1.0", "0.3"])
def test_a_method_that_nobody_knows_is_not_found(play: Any, version: str) -> None:
    stage = play(ScriptedModel())
    for method in ("DoMyTaxes", "tasks/destroy", "tasks", "message/send/"):
        body = json.dumps({"jsonrpc": "2.0", "id": "a", "method": method, "params": {}})
        reply = ProtocolClient(False, False).post(stage, "/", body, version=version)
        assert (reply.error, reply.events[0]["id"]) == ("METHOD_NOT_FOUND", "a")


def test_the_table_of_methods_is_whole() -> None:
    from a2a.server.routes.jsonrpc_dispatcher import JsonRpcDispatcher

    assert {new for new, _ in RPC_METHODS.values()} == set(JsonRpcDispatcher.METHOD_TO_MODEL)


def _bare(event: Any) -> Any:
    return event.get("result", event)
