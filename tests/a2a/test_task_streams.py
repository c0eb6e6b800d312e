"""Streams: the task first, then what happens to it, from the log; the same whichever invocation works on it."""

import asyncio
import json
import threading
from collections.abc import Callable
from typing import Any
from uuid import uuid4

import pytest

from agentfn import Agent, Context, File, Output, tool
from agentfn.models import ModelRequest
from agentfn.testing import LocalLambdaContext, RpcError, ScriptedModel, Stage, calls, pause, rest_event, rpc_event
from agentfn.testing.stage import auth_headers


@tool(idempotent=True)
def draw(context: Context) -> Output:
    """Draws."""
    context.progress("Drawing.")
    return Output("drawn", files=[File("a.svg", b"<svg/>")])


AGENT = Agent(name="painter", description="Draws.", tools=[draw])


class Reader:
    """What a client gets of a streamed answer. `limit` is after how many parts of the body it goes away."""

    def __init__(self, limit: int | None = None) -> None:
        self.status = 0
        self.headers: dict[str, str] = {}
        self.body = b""
        self.parts: list[bytes] = []
        self._limit = limit

    def __call__(self, message: Any) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            self.headers = {name.decode().lower(): value.decode() for name, value in message["headers"]}
            return
        if self._limit is not None and len(self.parts) >= self._limit:
            raise BrokenPipeError
        if message.get("body"):
            self.parts.append(message["body"])
            self.body += message["body"]

    @property
    def results(self) -> list[Any]:
        if self.headers["content-type"].startswith("application/json"):
            return [json.loads(self.body)]
        lines = self.body.decode().split("\n")
        return [json.loads(line.removeprefix("data: ")) for line in lines if line.startswith("data: ")]

    @property
    def kinds(self) -> list[str]:
        return [next(iter(result["result"])) for result in self.results]


def send(
    stage: Stage, text: str = "Draw!", *, reader: Reader | None = None, seconds: float = 60, **rest: Any
) -> Reader:
    message = {"messageId": str(uuid4()), "role": "ROLE_USER", "parts": [{"text": text}], **rest}
    return ask(stage, "SendStreamingMessage", {"message": message}, reader=reader, seconds=seconds)


def ask(
    stage: Stage,
    method: str,
    params: Any,
    *,
    caller: str = "alice",
    reader: Reader | None = None,
    seconds: float = 60,
    headers: Any = None,
) -> Reader:
    reader = reader or Reader()
    event = rpc_event(method, params, {**auth_headers(caller), **(headers or {})})
    stage.handler.stream(event, LocalLambdaContext(seconds), reader)
    return reader


@pytest.fixture
def stage_of(request: pytest.FixtureRequest) -> Any:
    def make(*script: Any, **settings: Any) -> Stage:
        stage = Stage(AGENT, ScriptedModel(*script), **{"streaming": "true", **settings})
        stage.__enter__()
        request.addfinalizer(lambda: stage.__exit__(None, None, None))
        return stage

    return make


def test_a_message_is_answered_with_the_task_and_then_what_happens_to_it(stage_of: Callable[..., Stage]) -> None:
    reader = send(stage_of(calls("draw"), "There."))
    assert (reader.status, reader.headers["content-type"].split(";")[0]) == (200, "text/event-stream")
    assert reader.kinds[0] == "task"
    assert reader.kinds[-2:] == ["artifactUpdate", "statusUpdate"]
    states = [
        result["result"]["statusUpdate"]["status"]["state"]
        for result in reader.results
        if "statusUpdate" in result["result"]
    ]
    assert states[-1] == "TASK_STATE_COMPLETED"
    link = reader.results[-2]["result"]["artifactUpdate"]["artifact"]["parts"][0]["url"]
    assert "X-Amz-Signature" in link
    assert b"\r" not in reader.body
    assert len(reader.parts) >= len(reader.results)


def test_a_stream_over_http_and_json_is_the_same(stage_of: Callable[..., Stage]) -> None:
    stage = stage_of("There.")
    reader = Reader()
    body = {"message": {"messageId": "m", "role": "ROLE_USER", "parts": [{"text": "Hi"}]}}
    event = rest_event("POST", "/message:stream", json.dumps(body), auth_headers("alice") | {"A2A-Version": "1.0"})
    stage.handler.stream(event, LocalLambdaContext(60), reader)
    assert [next(iter(result)) for result in reader.results][:1] == ["task"]
    assert reader.results[-1]["statusUpdate"]["status"]["state"] == "TASK_STATE_COMPLETED"


def test_an_old_client_gets_its_own_words(stage_of: Callable[..., Stage]) -> None:
    message = {"messageId": "m", "role": "user", "kind": "message", "parts": [{"kind": "text", "text": "Hi"}]}
    reader = ask(stage_of("There."), "message/stream", {"message": message})
    results = [result["result"] for result in reader.results]
    assert results[0]["kind"] == "task"
    assert (results[-1]["kind"], results[-1]["final"]) == ("status-update", True)
    assert results[-1]["status"]["state"] == "completed"


def test_a_stream_ends_where_the_task_waits(stage_of: Callable[..., Stage]) -> None:
    stage = stage_of(calls("ask_user", question="Which?"), "There.")
    reader = send(stage)
    task = reader.results[0]["result"]["task"]
    assert reader.results[-1]["result"]["statusUpdate"]["status"]["state"] == "TASK_STATE_INPUT_REQUIRED"
    again = send(stage, "The red one.", taskId=task["id"])
    assert again.results[-1]["result"]["statusUpdate"]["status"]["state"] == "TASK_STATE_COMPLETED"


@pytest.mark.usefixtures("no_waiting")
def test_a_stream_ends_before_the_deadline_and_another_one_goes_on_where_it_ended(
    stage_of: Callable[..., Stage],
) -> None:
    stage = stage_of(calls("draw"), pause(60), "There.", reserve_seconds=0.5)
    reader = send(stage, seconds=20)
    assert "statusUpdate" in reader.results[-1]["result"] or reader.kinds == ["task"]
    task = reader.results[0]["result"]["task"]
    stage.drain_queue()
    late = ask(stage, "SubscribeToTask", {"id": task["id"]}, seconds=1)
    assert late.results[0]["error"]["code"] == -32004
    assert stage.get(task["id"])["status"]["state"] == "TASK_STATE_COMPLETED"


def test_another_process_tells_what_this_one_does(stage_of: Callable[..., Stage]) -> None:
    """Without a gap and without a repeat: the snapshot, and the events after it."""
    reader = Reader()

    async def heard(_: ModelRequest) -> str:
        while not reader.parts:
            await asyncio.sleep(0.01)
        return "There."

    stage = stage_of(calls("draw"), heard)
    task = stage.send("Draw!", wait=False)
    other = stage.new_environment()
    event = rpc_event("SubscribeToTask", {"id": task["id"]}, auth_headers("alice"))
    listening = threading.Thread(target=other.stream, args=(event, LocalLambdaContext(30), reader))
    listening.start()
    stage.drain_queue()
    listening.join()
    assert reader.kinds[0] == "task"
    assert reader.kinds.count("artifactUpdate") == 1
    assert reader.results[-1]["result"]["statusUpdate"]["status"]["state"] == "TASK_STATE_COMPLETED"


def test_a_client_that_goes_away_ends_no_task(stage_of: Callable[..., Stage]) -> None:
    stage = stage_of(calls("draw"), pause(0.5), "There.")
    reader = send(stage, reader=Reader(limit=1))
    assert len(reader.parts) == 1
    task = reader.results[0]["result"]["task"]
    assert stage.get(task["id"])["status"]["state"] == "TASK_STATE_COMPLETED"


def test_a_process_leaves_nothing_behind_when_a_stream_has_ended(stage_of: Callable[..., Stage]) -> None:
    stage = stage_of("There.", "There.")
    for _ in range(2):
        assert send(stage).results[-1]["result"]["statusUpdate"]["status"]["state"] == "TASK_STATE_COMPLETED"
        assert [task for task in asyncio.all_tasks(stage.handler._loop) if not task.cancelling()] == []


def test_what_ended_or_is_another_s_cannot_be_subscribed_to(stage_of: Callable[..., Stage]) -> None:
    stage = stage_of("There.")
    task = send(stage).results[0]["result"]["task"]
    assert ask(stage, "SubscribeToTask", {"id": task["id"]}).results[0]["error"]["code"] == -32004
    mine = ask(stage, "SubscribeToTask", {"id": "none"}).results[0]["error"]
    assert ask(stage, "SubscribeToTask", {"id": task["id"]}, caller="bob").results[0]["error"] == mine
    assert mine["code"] == -32001


def test_a_message_that_is_refused_is_an_error_and_no_empty_stream(stage_of: Callable[..., Stage]) -> None:
    reader = ask(stage_of(), "SendStreamingMessage", {"message": {"messageId": "m", "role": "ROLE_USER", "parts": []}})
    assert reader.results[0]["error"]["code"] == -32602


@pytest.mark.parametrize("method", ["SendStreamingMessage", "SubscribeToTask"])
def test_where_nothing_streams_the_card_says_so_and_a_stream_is_refused(
    stage_of: Callable[..., Stage], method: str
) -> None:
    stage = stage_of("There.", streaming="false")
    card = json.loads(stage.request("GET", "/.well-known/agent-card.json")["body"])
    assert card["capabilities"].get("streaming", False) is False
    message = {"messageId": "m", "role": "ROLE_USER", "parts": [{"text": "Hi"}]}
    with pytest.raises(RpcError) as refused:
        stage.rpc(method, {"message": message} if "Send" in method else {"id": "x"})
    assert refused.value.code == -32004


def test_where_it_streams_the_card_says_so(stage_of: Callable[..., Stage]) -> None:
    card = json.loads(stage_of(streaming="true").request("GET", "/.well-known/agent-card.json")["body"])
    assert card["capabilities"]["streaming"] is True
