"""Webhooks: told of every event of a task, in order, however often that takes."""

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from agentfn import Agent, Context, File, Output, tool
from agentfn.bootstrap import aws_client
from agentfn.testing import LocalLambdaContext, RpcError, ScriptedModel, Stage, calls, pause, rpc_event
from agentfn.testing.stage import auth_headers


@tool(idempotent=True)
def draw(context: Context) -> Output:
    """Draws."""
    return Output("drawn", files=[File("a.svg", b"<svg/>")])


AGENT = Agent(name="painter", description="Draws.", tools=[draw])


class Subscriber:
    """A webhook on loopback that answers as it is told to, 200 when nothing is said."""

    def __init__(self) -> None:
        self.bodies: list[Any] = []
        self.headers: list[dict[str, str]] = []
        self.answers: list[int] = []
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                status = outer.answers.pop(0) if outer.answers else 200
                if 200 <= status < 300:
                    outer.bodies.append(body)
                    outer.headers.append({name.lower(): value for name, value in self.headers.items()})
                self.send_response(status)
                self.send_header("Location", "http://127.0.0.1:1/")
                self.end_headers()

            def log_message(self, *_: Any) -> None:
                return

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}/hook"
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    @property
    def states(self) -> list[str]:
        updates = [body.get("statusUpdate") or body.get("task") for body in self.bodies]
        return [update["status"]["state"].removeprefix("TASK_STATE_") for update in updates if update]


@pytest.fixture
def subscriber() -> Iterator[Subscriber]:
    subscriber = Subscriber()
    yield subscriber
    subscriber.close()


def stage(*script: Any, **settings: Any) -> Stage:
    return Stage(AGENT, ScriptedModel(*script), **{"fetch_loopback": "true", **settings})


def deliver(stage: Stage) -> None:
    """All messages, those too that are not due yet."""
    url = stage.resources.queue_url
    for _ in range(20):
        aws_client("sqs").set_queue_attributes(QueueUrl=url, Attributes={"DelaySeconds": "0"})
        backend = _messages(url)
        for message in backend:
            message.delayed_until = 0
        if not stage.drain_queue() and not _messages(url):
            return
    raise AssertionError("the queue is never empty")


def _messages(url: str) -> list[Any]:
    from moto.sqs.models import sqs_backends

    region = url.split(".")[1]
    (account,) = sqs_backends.keys()
    return list(sqs_backends[account][region].get_queue(url.rsplit("/", 1)[-1])._messages)


def send(stage: Stage, url: str, **config: Any) -> Any:
    said = {"messageId": "m", "role": "ROLE_USER", "parts": [{"text": "Draw!"}]}
    configuration = {"returnImmediately": True, "taskPushNotificationConfig": {"url": url, **config}}
    return stage.rpc("SendMessage", {"message": said, "configuration": configuration})["task"]


def test_a_subscriber_is_told_of_everything_in_order(subscriber: Subscriber) -> None:
    with stage(calls("draw"), "There.") as played:
        task = send(played, subscriber.url, token="t0ken", authentication={"scheme": "Bearer", "credentials": "s3cret"})
        deliver(played)
        assert subscriber.states == ["SUBMITTED", "WORKING", "COMPLETED"]
        artifacts = [body["artifactUpdate"] for body in subscriber.bodies if "artifactUpdate" in body]
        assert "X-Amz-Signature" in artifacts[0]["artifact"]["parts"][0]["url"]
        assert [body for body in subscriber.bodies if task["id"] not in json.dumps(body)] == []
    for headers in subscriber.headers:
        assert (headers["x-a2a-notification-token"], headers["authorization"]) == ("t0ken", "Bearer s3cret")


def test_who_subscribes_later_is_told_of_what_comes_then(subscriber: Subscriber) -> None:
    with stage(calls("ask_user", question="Which?"), "There.") as played:
        task = played.send("Draw!")
        config = played.rpc("CreateTaskPushNotificationConfig", {"taskId": task["id"], "url": subscriber.url})
        assert config["id"] == task["id"]
        played.send("That one.", taskId=task["id"])
        deliver(played)
    assert subscriber.states[-1] == "COMPLETED"
    assert "INPUT_REQUIRED" not in subscriber.states


def test_who_subscribes_while_a_run_goes_on_is_told_of_its_end(subscriber: Subscriber) -> None:
    with stage(pause(3), "There.") as played:
        task = played.send("Draw!", wait=False)
        working = threading.Thread(target=played.drain_queue)
        working.start()
        other = played.new_environment()
        params = {"taskId": task["id"], "url": subscriber.url}
        other(rpc_event("CreateTaskPushNotificationConfig", params, auth_headers("alice")), LocalLambdaContext(30))
        working.join()
        deliver(played)
    assert subscriber.states[-1] == "COMPLETED"


def test_a_webhook_that_fails_is_tried_again_and_misses_nothing(subscriber: Subscriber) -> None:
    subscriber.answers = [503, 500, 200, 302, 429]
    with stage(calls("draw"), "There.") as played:
        send(played, subscriber.url)
        deliver(played)
    assert list(dict.fromkeys(subscriber.states)) == ["SUBMITTED", "WORKING", "COMPLETED"]
    assert "artifactUpdate" in [next(iter(body)) for body in subscriber.bodies]


def test_a_webhook_that_never_answers_is_given_up_and_harms_no_task(subscriber: Subscriber) -> None:
    subscriber.answers = [500] * 100
    with stage("There.") as played:
        task = send(played, subscriber.url)
        deliver(played)
        assert len(subscriber.answers) == 100 - 8
        told = played.get(task["id"])
        assert told["status"]["state"] == "TASK_STATE_COMPLETED"
        assert told["metadata"]["agentfn"]["push"] == {task["id"]: {"delivered": 0, "failed": True}}


def test_a_subscriber_that_is_gone_is_asked_once(subscriber: Subscriber) -> None:
    subscriber.answers = [410] + [500] * 100
    with stage("There.") as played:
        send(played, subscriber.url)
        deliver(played)
    assert len(subscriber.answers) == 100


def test_an_old_subscriber_gets_the_task_in_its_own_words(subscriber: Subscriber) -> None:
    message = {"messageId": "m", "role": "user", "kind": "message", "parts": [{"kind": "text", "text": "Hi"}]}
    configuration = {"blocking": False, "pushNotificationConfig": {"url": subscriber.url}}
    with stage("There.") as played:
        played.rpc("message/send", {"message": message, "configuration": configuration})
        deliver(played)
    assert {body["kind"] for body in subscriber.bodies} == {"task"}
    assert subscriber.bodies[-1]["status"]["state"] == "completed"


def test_configurations_are_read_listed_and_deleted_by_their_owner_alone(subscriber: Subscriber) -> None:
    with stage("There.") as played:
        task = send(played, subscriber.url, id="mine")
        params = {"taskId": task["id"], "id": "mine"}
        assert played.rpc("GetTaskPushNotificationConfig", params)["url"] == subscriber.url
        listed = played.rpc("ListTaskPushNotificationConfigs", {"taskId": task["id"]})
        assert [config["id"] for config in listed["configs"]] == ["mine"]
        for method in ("GetTaskPushNotificationConfig", "DeleteTaskPushNotificationConfig"):
            with pytest.raises(RpcError) as refused:
                played.rpc(method, params, caller="bob")
            assert refused.value.code == -32001
        for _ in range(2):
            played.rpc("DeleteTaskPushNotificationConfig", params)
        deliver(played)
    assert subscriber.bodies == []


@pytest.mark.parametrize(
    "url",
    [
        "http://169.254.169.254/",
        "http://[::ffff:169.254.169.254]/",
        "http://2130706433/",
        "http://localhost:9001/2018-06-01/runtime/invocation/next",
        "file:///etc/passwd",
        "http://user@example.com/",
        "",
    ],
)
def test_an_address_that_is_not_public_is_refused_and_nothing_is_stored(url: str) -> None:
    with stage("There.", fetch_loopback="false") as played:
        with pytest.raises(RpcError) as refused:
            send(played, url, id="x")
        assert (refused.value.code, played.table_items()) == (-32602, [])


def test_a_secret_that_could_make_a_header_is_refused(subscriber: Subscriber) -> None:
    with stage("There.") as played, pytest.raises(RpcError) as refused:
        send(played, subscriber.url, token="a\r\nX-Evil: 1")
    assert refused.value.code == -32602


def test_where_push_is_off_the_card_says_so_and_configurations_are_refused(subscriber: Subscriber) -> None:
    with stage("There.", push="false") as played:
        card = json.loads(played.request("GET", "/.well-known/agent-card.json")["body"])
        assert card["capabilities"].get("pushNotifications", False) is False
        with pytest.raises(RpcError) as refused:
            send(played, subscriber.url)
    assert refused.value.code == -32003
