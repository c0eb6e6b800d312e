"""Webhooks: told of every event of a task, in order, however often that takes."""

import asyncio
import json
import threading
from collections.abc import Iterator

import pytest

from agentfn.models import ModelRequest
from agentfn.testing import LocalLambdaContext, RpcError, calls, rpc_event
from agentfn.testing.stage import auth_headers
from support.webhook_receiver import WebhookReceiver, deliver_all, push_stage, send_with_webhook


@pytest.fixture
def subscriber() -> Iterator[WebhookReceiver]:
    subscriber = WebhookReceiver()
    yield subscriber
    subscriber.close()


def test_a_subscriber_is_told_of_everything_in_order(subscriber: WebhookReceiver) -> None:
    with push_stage(calls("draw"), "There.") as played:
        task = send_with_webhook(
            played, subscriber.url, token="t0ken", authentication={"scheme": "Bearer", "credentials": "s3cret"}
        )
        deliver_all(played)
        assert subscriber.states == ["SUBMITTED", "WORKING", "COMPLETED"]
        artifacts = [body["artifactUpdate"] for body in subscriber.bodies if "artifactUpdate" in body]
        assert "X-Amz-Signature" in artifacts[0]["artifact"]["parts"][0]["url"]
        assert [body for body in subscriber.bodies if task["id"] not in json.dumps(body)] == []
    for headers in subscriber.headers:
        assert (headers["x-a2a-notification-token"], headers["authorization"]) == ("t0ken", "Bearer s3cret")


def test_who_subscribes_later_is_told_of_what_comes_then(subscriber: WebhookReceiver) -> None:
    with push_stage(calls("ask_user", question="Which?"), "There.") as played:
        task = played.send("Draw!")
        config = played.rpc("CreateTaskPushNotificationConfig", {"taskId": task["id"], "url": subscriber.url})
        assert config["id"] == task["id"]
        played.send("That one.", taskId=task["id"])
        deliver_all(played)
    assert subscriber.states[-1] == "COMPLETED"
    assert "INPUT_REQUIRED" not in subscriber.states


def test_who_subscribes_while_a_run_goes_on_is_told_of_its_end(subscriber: WebhookReceiver) -> None:
    begun, subscribed = threading.Event(), threading.Event()

    async def answer(_: ModelRequest) -> str:
        begun.set()
        while not subscribed.is_set():
            await asyncio.sleep(0.01)
        return "There."

    with push_stage(answer) as played:
        task = played.send("Draw!", wait=False)
        working = threading.Thread(target=played.drain_queue)
        working.start()
        begun.wait(60)
        other = played.new_environment()
        params = {"taskId": task["id"], "url": subscriber.url}
        other(rpc_event("CreateTaskPushNotificationConfig", params, auth_headers("alice")), LocalLambdaContext(30))
        subscribed.set()
        working.join()
        deliver_all(played)
    assert subscriber.states[-1] == "COMPLETED"


def test_a_webhook_that_fails_is_tried_again_and_misses_nothing(subscriber: WebhookReceiver) -> None:
    subscriber.answers = [503, 500, 200, 302, 429]
    with push_stage(calls("draw"), "There.") as played:
        send_with_webhook(played, subscriber.url)
        deliver_all(played)
    assert list(dict.fromkeys(subscriber.states)) == ["SUBMITTED", "WORKING", "COMPLETED"]
    assert "artifactUpdate" in [next(iter(body)) for body in subscriber.bodies]


def test_a_webhook_that_never_answers_is_given_up_and_harms_no_task(subscriber: WebhookReceiver) -> None:
    subscriber.answers = [500] * 100
    with push_stage("There.") as played:
        task = send_with_webhook(played, subscriber.url)
        deliver_all(played)
        assert len(subscriber.answers) == 100 - 8
        told = played.get(task["id"])
        assert told["status"]["state"] == "TASK_STATE_COMPLETED"
        assert told["metadata"]["agentfn"]["push"] == {task["id"]: {"delivered": 0, "failed": True}}


def test_a_subscriber_that_is_gone_is_asked_once(subscriber: WebhookReceiver) -> None:
    subscriber.answers = [410] + [500] * 100
    with push_stage("There.") as played:
        send_with_webhook(played, subscriber.url)
        deliver_all(played)
    assert len(subscriber.answers) == 100


def test_an_old_subscriber_gets_the_task_in_its_own_words(subscriber: WebhookReceiver) -> None:
    message = {"messageId": "m", "role": "user", "kind": "message", "parts": [{"kind": "text", "text": "Hi"}]}
    configuration = {"blocking": False, "pushNotificationConfig": {"url": subscriber.url}}
    with push_stage("There.") as played:
        played.rpc("message/send", {"message": message, "configuration": configuration})
        deliver_all(played)
    assert {body["kind"] for body in subscriber.bodies} == {"task"}
    assert subscriber.bodies[-1]["status"]["state"] == "completed"


def test_configurations_are_read_listed_and_deleted_by_their_owner_alone(subscriber: WebhookReceiver) -> None:
    with push_stage("There.") as played:
        task = send_with_webhook(played, subscriber.url, id="mine")
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
        deliver_all(played)
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
    with push_stage("There.", fetch_loopback="false") as played:
        with pytest.raises(RpcError) as refused:
            send_with_webhook(played, url, id="x")
        assert (refused.value.code, played.table_items()) == (-32602, [])


def test_a_secret_that_could_make_a_header_is_refused(subscriber: WebhookReceiver) -> None:
    with push_stage("There.") as played, pytest.raises(RpcError) as refused:
        send_with_webhook(played, subscriber.url, token="a\r\nX-Evil: 1")
    assert refused.value.code == -32602


def test_where_push_is_off_the_card_says_so_and_configurations_are_refused(subscriber: WebhookReceiver) -> None:
    with push_stage("There.", push="false") as played:
        card = json.loads(played.request("GET", "/.well-known/agent-card.json")["body"])
        assert card["capabilities"].get("pushNotifications", False) is False
        with pytest.raises(RpcError) as refused:
            send_with_webhook(played, subscriber.url)
    assert refused.value.code == -32003
