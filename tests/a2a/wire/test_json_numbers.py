"""Numbers come out as they went in: to the model, into the history, and back over every binding."""

import json
import time
from typing import Any

import pytest
from a2a.server.agent_execution import AgentExecutor, RequestContext
from a2a.server.events.event_queue import EventQueue
from a2a.server.tasks import TaskUpdater
from a2a.types import Part
from google.protobuf.json_format import MessageToDict, ParseDict
from google.protobuf.struct_pb2 import Value

from agentfn import Agent, Context, File, Output, tool
from agentfn.json_numbers import ENCODED_PREFIX, decode_numbers, encode_numbers
from agentfn.testing import ScriptedModel, Stage, calls
from support.protocol_clients import CLIENTS, ProtocolClient
from support.raw_http_server import RawHttpServer, http_response

EACH = pytest.mark.parametrize("speaker", CLIENTS, ids=str)
LARGE = 12_345_678_901_234_567_890
SENT: dict[str, Any] = {
    "whole": 3,
    "point": 3.0,
    "large": LARGE,
    "edge": [2**53, 2**53 + 1, -(2**53) - 1],
    "fraction": [0.1, -2.5, 1e-300, 1e300, -0.0],
    "others": [True, None, "3", f"{ENCODED_PREFIX}3", {"data": 1.0, "metadata": 2}],
}


def same(one: Any, other: Any) -> bool:
    """As JSON text: 3 and 3.0 are different."""
    return json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)


@EACH
def test_data_reaches_the_model_and_comes_back_as_it_was_sent(play: Any, speaker: ProtocolClient) -> None:
    model = ScriptedModel("Seen.")
    stage = play(model)
    task = speaker.task(speaker.send(stage, {"data": SENT}, metadata={"order": LARGE, "weight": 2.0}))
    assert same(json.loads(model.requests[0].turns[-1].text), SENT)
    for shown in (task, speaker.call(stage, "get", task["id"]).result):
        [said] = shown["history"]
        assert same(speaker.data(said), SENT)
        assert same(said["metadata"], {"order": LARGE, "weight": 2.0})
    for other in CLIENTS:  # whoever reads it
        [said] = other.call(stage, "get", task["id"]).result["history"]
        assert same(other.data(said), SENT)


@pytest.mark.parametrize("speaker", CLIENTS[:2], ids=str)
@pytest.mark.parametrize("data", [3, 3.0, LARGE, [LARGE, 2.0], "3", None, f"{ENCODED_PREFIX}3"], ids=str)
def test_data_may_be_any_value(play: Any, speaker: ProtocolClient, data: Any) -> None:
    stage = play(ScriptedModel("Seen."))
    task = speaker.task(speaker.send(stage, {"data": data}))
    [listed] = speaker.call(stage, "list").result["tasks"]
    for shown in (task, listed):
        assert same(speaker.data(shown["history"][0]), data)


@EACH
def test_a_stream_s_numbers_are_exact(play: Any, speaker: ProtocolClient) -> None:
    stage = play(ScriptedModel("Seen."), streaming=True)
    first = speaker.stream(stage, "stream", speaker.request({"data": SENT})).events[0]
    shown = first.get("result", first)
    [said] = shown.get("task", shown)["history"]
    assert same(speaker.data(said), SENT)


@tool(idempotent=True)
def draw(context: Context) -> Output:
    """Draws."""
    return Output("drawn", files=[File("a.svg", b"<svg/>")])


@EACH
def test_what_the_agent_counts_is_counted_in_whole_numbers(speaker: ProtocolClient) -> None:
    agent = Agent(name="painter", description="Draws.", tools=[draw])
    with Stage(agent, ScriptedModel(calls("draw"), "There.")) as stage:
        task = speaker.task(speaker.send(stage, {"text": "Draw!"}))
        for shown in (task, speaker.call(stage, "get", task["id"]).result):
            assert same(shown["artifacts"][0]["metadata"]["size"], 6)
            assert same(shown["metadata"]["agentfn"]["steps"], 2)


@pytest.mark.parametrize("speaker", [CLIENTS[0], CLIENTS[2]], ids=str)
def test_a_webhook_s_numbers_are_exact_and_in_the_dialect_it_was_set_in(play: Any, speaker: ProtocolClient) -> None:
    with RawHttpServer(http_response(b"")) as hook:
        stage = play(ScriptedModel("Seen."), fetch_loopback="true")
        name = "pushNotificationConfig" if speaker.v0_3 else "taskPushNotificationConfig"
        configuration = {"returnImmediately": True, name: {"url": hook.url}}
        speaker.send(stage, {"data": SENT}, configuration=configuration)
        while not hook.bodies:  # the queue holds its messages back for a moment
            stage.drain_queue()
            time.sleep(0.1)
        bodies = [json.loads(body) for body in hook.bodies]
    tasks = [body if speaker.v0_3 else body["task"] for body in bodies if speaker.v0_3 or "task" in body]
    assert tasks
    assert all(task.get("kind") == ("task" if speaker.v0_3 else None) for task in tasks)
    assert all(same(speaker.data(task["history"][0]), SENT) for task in tasks)


class Mirror(AgentExecutor):
    """Gives back the data that it was sent."""

    def __init__(self) -> None:
        self.seen: list[Any] = []

    async def execute(self, context: RequestContext, event_queue: EventQueue) -> None:
        assert context.message
        assert context.current_task
        [part] = context.message.parts
        self.seen = [MessageToDict(part.data), MessageToDict(context.current_task.history[0].parts[0].data)]
        updater = TaskUpdater(event_queue, str(context.task_id), str(context.context_id))
        await updater.add_artifact([Part(data=part.data), Part(data=ParseDict({"count": 42}, Value()))])
        await updater.complete()

    async def cancel(self, context: RequestContext, event_queue: EventQueue) -> None:
        return


@EACH
def test_another_framework_s_agent_is_given_plain_numbers(speaker: ProtocolClient) -> None:
    mirror = Mirror()
    with Stage(Agent(name="mirror", description="Reflects."), executor=mirror) as stage:
        task = speaker.task(speaker.send(stage, {"data": {"n": 3, "large": LARGE}}, configuration=WAIT_NOT))
        stage.drain_queue()
        shown = speaker.call(stage, "get", task["id"]).result
    assert mirror.seen == [{"n": 3.0, "large": float(LARGE)}] * 2
    artifact = shown["artifacts"][0]
    assert same(speaker.data(artifact)["n"], 3)
    assert same(speaker.data({"parts": artifact.get("parts", artifact.get("content"))[1:]})["count"], 42)


WAIT_NOT = {"returnImmediately": True}


def test_only_the_sender_s_own_json_is_touched() -> None:
    asked: Any = {
        "id": LARGE,
        "params": {"text": f"{ENCODED_PREFIX}3", "historyLength": 3.0, "metadata": {"a": LARGE, "b": 3}},
    }
    passed = encode_numbers(asked)
    assert passed == {**asked, "params": {**asked["params"], "metadata": {"a": f"{ENCODED_PREFIX}{LARGE}", "b": 3}}}
    assert same(decode_numbers(passed), asked)


def test_a_string_that_only_looks_carried_stays_one() -> None:
    assert decode_numbers({"data": f"{ENCODED_PREFIX}not JSON"}) == {"data": f"{ENCODED_PREFIX}not JSON"}
