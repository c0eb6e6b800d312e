"""What one caller has does not exist for another: by whatever door he asks, he is answered as for made-up ids."""

import dataclasses
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

import pytest
import requests
from a2a.server.request_handlers.request_handler import RequestHandler
from a2a.server.routes.jsonrpc_dispatcher import JsonRpcDispatcher
from starlette.routing import Mount, Route

from agentfn import Agent, File, InputFile, Output, tool
from agentfn.a2a.wire import v0_3
from agentfn.aws_clients import aws_client
from agentfn.models import ModelRequest
from agentfn.testing import LocalLambdaContext, ScriptedModel, Stage, calls, http_event, rest_event
from agentfn.testing.stage import auth_headers
from support.protocol_clients import RPC_METHODS as SPOKEN

pytestmark = pytest.mark.slow

ARN = "arn:aws:sts::123456789012:assumed-role/{}/session"
HOOK = "https://93.184.216.34/hook"
WORDS = "The treasure is under the old oak."
JSON = {"Content-Type": "application/json"}

Shape = Callable[["Ids"], Any]


@dataclass(frozen=True)
class Ids:
    """What somebody may know of another's, or make up."""

    task: str
    context: str
    message: str
    config: str
    object: str
    upload: str

    @classmethod
    def made_up(cls) -> "Ids":
        return cls(str(uuid4()), str(uuid4()), str(uuid4()), str(uuid4()), uuid4().hex, uuid4().hex)

    def hidden_in(self, text: str) -> str:
        for name, value in dataclasses.asdict(self).items():
            text = text.replace(value, f"<{name}>")
        return text


def said(ids: Ids, **rest: Any) -> dict[str, Any]:
    return {"messageId": "bobs", "role": "ROLE_USER", "parts": [{"text": "Go on!"}], "taskId": ids.task, **rest}


def said_old(ids: Ids, **rest: Any) -> dict[str, Any]:
    text = [{"kind": "text", "text": "Go on!"}]
    return {"kind": "message", "messageId": "bobs", "role": "user", "parts": text, "taskId": ids.task, **rest}


def said_rest(ids: Ids) -> dict[str, Any]:
    return {"messageId": "bobs", "role": "ROLE_USER", "content": [{"text": "Go on!"}], "taskId": ids.task}


RPC: dict[str, Shape] = {
    "SendMessage": lambda ids: {"message": said(ids)},
    "SendStreamingMessage": lambda ids: {"message": said(ids)},
    "GetTask": lambda ids: {"id": ids.task},
    "ListTasks": lambda ids: {"contextId": ids.context},
    "CancelTask": lambda ids: {"id": ids.task},
    "SubscribeToTask": lambda ids: {"id": ids.task},
    "CreateTaskPushNotificationConfig": lambda ids: {"taskId": ids.task, "url": HOOK, "id": ids.config},
    "GetTaskPushNotificationConfig": lambda ids: {"taskId": ids.task, "id": ids.config},
    "ListTaskPushNotificationConfigs": lambda ids: {"taskId": ids.task},
    "DeleteTaskPushNotificationConfig": lambda ids: {"taskId": ids.task, "id": ids.config},
    "GetExtendedAgentCard": lambda ids: {},
    "message/send": lambda ids: {"message": said_old(ids)},
    "message/stream": lambda ids: {"message": said_old(ids)},
    "tasks/get": lambda ids: {"id": ids.task},
    "tasks/cancel": lambda ids: {"id": ids.task},
    "tasks/resubscribe": lambda ids: {"id": ids.task},
    "tasks/pushNotificationConfig/set": lambda ids: {"taskId": ids.task, "pushNotificationConfig": {"url": HOOK}},
    "tasks/pushNotificationConfig/get": lambda ids: {"id": ids.task, "pushNotificationConfigId": ids.config},
    "tasks/pushNotificationConfig/list": lambda ids: {"id": ids.task},
    "tasks/pushNotificationConfig/delete": lambda ids: {"id": ids.task, "pushNotificationConfigId": ids.config},
    "agent/getAuthenticatedExtendedCard": lambda ids: {},
}
OTHER_MESSAGES: dict[str, Shape] = {
    "a push configuration with a message": lambda ids: {
        "message": said(ids),
        "configuration": {"taskPushNotificationConfig": {"url": HOOK, "id": ids.config}},
    },
    "a task and its context": lambda ids: {"message": said(ids, contextId=ids.context)},
    "a task that is referred to": lambda ids: {"message": said(ids, taskId="", referenceTaskIds=[ids.task])},
    "an upload": lambda ids: {"message": said(ids, taskId="", parts=[{"url": f"upload:{ids.upload}"}])},
    "a key of an upload": lambda ids: {
        "message": said(ids, taskId="", parts=[{"url": f"upload:../alice/{ids.upload}"}])
    },
    "an object of the bucket": lambda ids: {"message": said(ids, taskId="", parts=[{"url": f"s3://b/{ids.object}"}])},
    "a task by a trick": lambda ids: {"message": said(ids, taskId=f"{ids.task}#head")},
    "a task by the other's name": lambda ids: {"message": said(ids, taskId=f"../alice#{ids.task}")},
}
CONFIG: Shape = lambda ids: {"url": HOOK, "id": ids.config}  # noqa: E731
OLD_CONFIG: Shape = lambda ids: {  # noqa: E731
    "parent": f"tasks/{ids.task}",
    "config": {"pushNotificationConfig": {"url": HOOK, "id": ids.config}},
}
NOTHING: Shape = lambda ids: None  # noqa: E731
ROUTES: dict[str, Shape] = {
    "GET /.well-known/agent-card.json": NOTHING,
    "GET /.well-known/agent.json": NOTHING,
    "GET /health": NOTHING,
    "GET /healthz": NOTHING,
    "POST /mcp": lambda ids: {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "tools/call",
        "params": {"name": "count", "arguments": {"file": f"upload:{ids.upload}"}},
    },
    "GET /files/{id}": NOTHING,
    "POST /uploads": lambda ids: {"name": ids.upload, "size": 0},
    "POST /": lambda ids: {"jsonrpc": "2.0", "id": 1, "method": "GetTask", "params": {"id": ids.task}},
    "POST /message:send": lambda ids: {"message": said(ids)},
    "POST /message:stream": lambda ids: {"message": said(ids)},
    "GET /tasks": NOTHING,
    "GET /tasks/{id}": NOTHING,
    "POST /tasks/{id}:cancel": NOTHING,
    "GET /tasks/{id}:subscribe": NOTHING,
    "POST /tasks/{id}:subscribe": NOTHING,
    "POST /tasks/{id}/pushNotificationConfigs": CONFIG,
    "GET /tasks/{id}/pushNotificationConfigs": NOTHING,
    "GET /tasks/{id}/pushNotificationConfigs/{push_id}": NOTHING,
    "DELETE /tasks/{id}/pushNotificationConfigs/{push_id}": NOTHING,
    "GET /extendedAgentCard": NOTHING,
    "POST /v1/message:send": lambda ids: {"message": said_rest(ids)},
    "POST /v1/message:stream": lambda ids: {"message": said_rest(ids)},
    "GET /v1/tasks/{id}": NOTHING,
    "POST /v1/tasks/{id}:cancel": NOTHING,
    "GET /v1/tasks/{id}:subscribe": NOTHING,
    "POST /v1/tasks/{id}:subscribe": NOTHING,
    "POST /v1/tasks/{id}/pushNotificationConfigs": OLD_CONFIG,
    "GET /v1/tasks/{id}/pushNotificationConfigs": NOTHING,
    "GET /v1/tasks/{id}/pushNotificationConfigs/{push_id}": NOTHING,
    "DELETE /v1/tasks/{id}/pushNotificationConfigs/{push_id}": NOTHING,
    "GET /v1/card": NOTHING,
}
WITHOUT_IDS = ("/.well-known", "/health", "/extendedAgentCard", "/v1/card")  # all are answered alike, and may be


@tool(idempotent=True)
def draw() -> Output:
    """Draws a map."""
    return Output("drawn", files=[File("map.svg", b"<svg/>")])


@tool(idempotent=True)
def count(file: InputFile) -> int:
    """Counts the bytes of a file."""
    return len(file.read_bytes())


def answering(prompt: ModelRequest) -> Any:
    """Draws for one who speaks of treasure, asks one who wants to be asked, and tells others what they said."""
    last = prompt.turns[-1]
    if last.role == "user" and "Ask" in last.text:
        return calls("ask_user", question=WORDS)
    return calls("draw") if last.role == "user" and "treasure" in last.text else f"You said: {last.text}"


class World:
    """An agent with two callers, of whom alice was there before."""

    def __init__(self, stage: Stage, model: ScriptedModel, auth: str) -> None:
        self.stage, self.model, self.auth = stage, model, auth
        upload = self.read(self.ask("alice", "POST", "/uploads", {"name": "treasure.csv"}))
        form = {**upload["fields"], "file": b"gold"}
        requests.post(upload["url"], data=upload["fields"], files={"file": form["file"]}, timeout=5)
        parts = [{"text": WORDS}, {"raw": "Z29sZA==", "filename": "gold.txt"}]
        done = self.begun("alices", parts, taskPushNotificationConfig={"url": HOOK, "token": WORDS})
        key = self.objects("/produced/")[0]
        use = {"name": "draw", "arguments": {}}
        self.read(self.ask("alice", "POST", "/mcp", {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": use}))
        self.ids = Ids(done["id"], done["contextId"], "alices", done["id"], key.rsplit("/", 1)[-1], upload["id"])
        waiting = self.begun("alices too", [{"text": f"Ask! {WORDS}"}], contextId=done["contextId"])
        self.waiting = dataclasses.replace(self.ids, task=waiting["id"], config=waiting["id"])
        assert [task["status"]["state"][11:] for task in (done, waiting)] == ["COMPLETED", "INPUT_REQUIRED"]
        model.requests.clear()

    def begun(self, message_id: str, parts: list[Any], **rest: Any) -> Any:
        config = {name: rest.pop(name) for name in ("taskPushNotificationConfig",) if name in rest}
        message = {"messageId": message_id, "role": "ROLE_USER", "parts": parts, **rest}
        body = {"message": message, "configuration": config}
        return self.read(self.ask("alice", "POST", "/message:send", body))["task"]

    def event(self, who: str, method: str, path: str, body: Any = None, **rest: Any) -> dict[str, Any]:
        version = {} if path.startswith("/v1") or "/" in (body or {}).get("method", "/") else {"A2A-Version": "1.0"}
        version = {"A2A-Version": "1.0"} if path not in ("/", "/mcp") and not path.startswith("/v1") else version
        accept = {"Accept": "application/json, text/event-stream"} if path == "/mcp" else {}
        proof = auth_headers(who) if self.auth == "bearer" else {}
        headers = {**JSON, **version, **accept, **proof, **rest.pop("headers", {})}
        event = rest.pop("make", rest_event)(method, path, json.dumps(body) if body else None, headers, **rest)
        if self.auth == "iam" and "version" in event:
            event["requestContext"]["authorizer"] = {"iam": {"userArn": ARN.format(who)}}
        elif self.auth == "iam":
            event["requestContext"]["identity"]["userArn"] = ARN.format(who)
        return dict(event)

    def ask(self, who: str, method: str, path: str, body: Any = None, **rest: Any) -> Any:
        return self.stage.handler(self.event(who, method, path, body, **rest), LocalLambdaContext(20))

    def rpc(self, who: str, method: str, params: Any, **rest: Any) -> Any:
        return self.ask(who, "POST", "/", {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}, **rest)

    def read(self, answer: Any) -> Any:
        """The result, out of its envelope."""
        assert answer["statusCode"] in (200, 201), answer
        body = json.loads(answer["body"])
        return body["result"] if "jsonrpc" in body else body

    def objects(self, part: str = "") -> list[str]:
        found = aws_client("s3").list_objects_v2(Bucket=self.stage.resources.bucket)["Contents"]
        return [item["Key"] for item in found if part in item["Key"]]

    def of_alice(self) -> tuple[list[Any], list[str], int]:
        items = [item for item in self.stage.table_items() if "#bob" not in item["pk"]["S"]]
        return sorted(items, key=str), self.objects("alice"), self.queued()

    def queued(self) -> int:
        """Messages in the queue, whether they are due or not."""
        counts = [f"ApproximateNumberOfMessages{kind}" for kind in ("", "Delayed", "NotVisible")]
        url = self.stage.resources.queue_url
        told = aws_client("sqs").get_queue_attributes(QueueUrl=url, AttributeNames=["All"])["Attributes"]
        return sum(int(told[name]) for name in counts)


@pytest.fixture(scope="module", params=["bearer", "iam"])
def world(request: pytest.FixtureRequest) -> Iterator[World]:
    model = ScriptedModel.from_function(answering)
    agent = Agent(name="clerk", description="A clerk.", tools=[draw, count])
    with Stage(agent, model, auth=request.param, mcp=True, streaming=True) as stage:
        yield World(stage, model, request.param)


def same(world: World, asked: Callable[[Ids], Any]) -> None:
    """As for ids that were made up; and of alice's nothing has changed, and nothing is told."""
    before = world.of_alice()
    for ids in (world.ids, world.waiting):
        made_up = Ids.made_up()
        answer, expected = asked(ids), asked(made_up)
        assert ids.hidden_in(json.dumps(answer)) == made_up.hidden_in(json.dumps(expected))
        assert not told(answer)
    assert world.of_alice() == before


def told(answer: Any) -> list[str]:
    text = json.dumps(answer)
    return [word for word in ("treasure", "oak", "gold", "map.svg", "alice", "X-Amz") if word in text]


def test_every_method_of_the_protocol_has_its_case() -> None:
    """One that is new in the sdk, or here, has none, and nobody has looked at who gets in by it."""
    handled = {name.removeprefix("on_") for name in vars(RequestHandler) if name.startswith("on_")}
    named = {_snake(new).replace("send_streaming_message", "message_send_stream") for new, _ in SPOKEN.values()}
    assert handled == {"message_send" if name == "send_message" else name for name in named}
    assert set(RPC) == {*JsonRpcDispatcher.METHOD_TO_MODEL, *v0_3.REQUEST_MODELS}


def test_every_route_has_its_case(world: World) -> None:
    app: Any = world.stage.handler._api_gateway._app
    while not hasattr(app, "routes"):
        app = app.app if hasattr(app, "app") else app._app
    routed = set(_routed(app.routes))
    assert {route for route in routed if "{tenant}" not in route} == set(ROUTES)
    mounted = {route.replace("/{tenant}", "") for route in routed if "{tenant}" in route}
    assert mounted <= set(ROUTES)


def _routed(routes: Iterable[Any], prefix: str = "") -> Iterator[str]:
    for route in routes:
        if isinstance(route, Mount):
            yield from _routed(route.routes, prefix + route.path)
        else:
            assert isinstance(route, Route)
            yield from (f"{method} {prefix}{route.path}" for method in (route.methods or {"POST"}) - {"HEAD"})


def _snake(name: str) -> str:
    return "".join(f"_{char.lower()}" if char.isupper() else char for char in name).lstrip("_")


@pytest.mark.parametrize("method", RPC)
def test_no_method_tells_another_caller_more_than_a_made_up_id_does(world: World, method: str) -> None:
    same(world, lambda ids: world.rpc("bob", method, RPC[method](ids)))


@pytest.mark.parametrize("case", OTHER_MESSAGES)
def test_no_message_reaches_what_is_another_s(world: World, case: str) -> None:
    same(world, lambda ids: world.rpc("bob", "SendMessage", OTHER_MESSAGES[case](ids)))
    same(world, lambda ids: world.rpc("bob", "SendStreamingMessage", OTHER_MESSAGES[case](ids)))


@pytest.mark.parametrize("make", [rest_event, http_event], ids=["v1", "v2"])
@pytest.mark.parametrize("route", ROUTES)
def test_no_route_tells_him_more_either(world: World, route: str, make: Any) -> None:
    method, path = route.split(" ")

    def asked(ids: Ids, prefix: str = "") -> Any:
        own = f"{ids.task}.{ids.object}" if path.startswith("/files") else ids.task
        where = prefix + path.format(id=own, push_id=ids.config)
        query = f"contextId={ids.context}" if path == "/tasks" else ""
        return world.ask("bob", method, where, ROUTES[route](ids), make=make, query=query)

    same(world, asked)
    if not path.startswith(("/v1", "/.well-known")) and path not in ("/", "/mcp", "/files/{id}", "/uploads"):
        same(world, lambda ids: asked(ids, "/alice"))  # a tenant of that name is no owner


def test_a_list_shows_nothing_of_another_s(world: World) -> None:
    mine = world.read(world.rpc("alice", "ListTasks", {"pageSize": 1, "includeArtifacts": True}))
    assert mine["totalSize"] >= 2
    token = mine["nextPageToken"]
    for params in ({}, {"contextId": world.ids.context}, {"pageToken": token}, {"status": "TASK_STATE_COMPLETED"}):
        listed = world.rpc("bob", "ListTasks", {**params, "includeArtifacts": True, "historyLength": 100})
        assert not told(listed)
        assert world.ids.task not in listed["body"]
        assert world.waiting.task not in listed["body"]


def test_another_s_context_is_one_s_own_and_empty(world: World) -> None:
    message = said(world.ids, taskId="", contextId=world.ids.context, messageId=str(uuid4()))
    world.model.requests.clear()
    for answer in (
        world.rpc("bob", "SendMessage", {"message": message}),
        world.rpc("bob", "ListTasks", {"contextId": world.ids.context, "historyLength": 100}),
    ):
        assert not told(answer)
    [prompt] = world.model.requests
    assert "treasure" not in repr(prompt)
    assert [turn.text for turn in prompt.turns if turn.role == "user"] == ["Go on!"]
    again = world.rpc("alice", "ListTasks", {"contextId": world.ids.context})
    assert "Go on!" not in again["body"]


def test_a_message_id_or_key_of_another_s_begins_one_s_own_task(world: World) -> None:
    parts = [{"text": WORDS}, {"raw": "Z29sZA==", "filename": "gold.txt"}]
    message = {"messageId": world.ids.message, "role": "ROLE_USER", "parts": parts}
    begun = world.read(world.rpc("alice", "SendMessage", {"message": message}))["task"]
    assert begun["id"] == world.ids.task, "hers comes again"
    key = {"Idempotency-Key": world.ids.message}
    for headers in ({}, key):
        task = world.read(world.rpc("bob", "SendMessage", {"message": message}, headers=headers))["task"]
        assert task["id"] not in (world.ids.task, world.waiting.task)
        assert world.ids.task not in json.dumps(task)


def test_what_a_tool_made_by_mcp_lies_in_its_caller_s_folder(world: World) -> None:
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "draw", "arguments": {}}}
    link = next(part for part in world.read(world.ask("bob", "POST", "/mcp", call))["content"] if "uri" in part)
    folders = {key.split("/")[1] for key in world.objects("/mcp/")}
    assert any("alice" in folder for folder in folders)
    assert "alice" not in link["uri"]
    for key in world.objects("alice"):
        same(world, lambda ids, key=key: world.ask("bob", "GET", f"/files/{key}"))  # type: ignore[misc]


CLAIMS: list[Mapping[str, str]] = [
    {"X-Forwarded-User": "alice", "X-User": "alice", "X-Remote-User": "alice", "From": "alice"},
    {"X-Amzn-Iam-User-Arn": ARN.format("alice"), "x-amzn-oidc-identity": "alice", "X-Amz-Security-Token": "alice"},
    {"X-Amzn-Request-Context": json.dumps({"identity": {"userArn": ARN.format("alice")}})},
    {"x-amzn-request-context": json.dumps({"authorizer": {"iam": {"userArn": ARN.format("alice")}}})},
    {"Agentfn.Caller": "alice", "agentfn-caller": "alice", "agentfn_caller": "alice", "X-Caller": "alice"},
    {"Cookie": "user=alice; Authorization=Bearer alice", "Proxy-Authorization": "Bearer alice"},
    {"X-HTTP-Method-Override": "GET", "X-Original-URL": "/health", "X-Rewrite-URL": "/.well-known/agent.json"},
]


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: next(iter(claim)))
@pytest.mark.parametrize("make", [rest_event, http_event], ids=["v1", "v2"])
def test_a_header_that_claims_to_be_another_changes_nothing(world: World, make: Any, claim: Any) -> None:
    query = f"userArn={ARN.format('alice')}&caller=alice"
    for path in (f"/tasks/{world.ids.task}", "/tasks", "/extendedAgentCard"):
        context = f"contextId={world.ids.context}"
        plain = world.ask("bob", "GET", path, make=make, query=context)
        assert not told(plain)
        assert world.ask("bob", "GET", path, make=make, headers=claim, query=f"{context}&{query}") == plain


def test_a_body_that_claims_to_be_another_changes_nothing(world: World) -> None:
    gateway = {"identity": {"userArn": ARN.format("alice")}, "authorizer": {"iam": {"userArn": ARN.format("alice")}}}
    claims = {
        "requestContext": gateway,
        "caller": "alice",
        "owner": "alice",
        "tenant": "alice",
        "agentfn.call": "alice",
    }
    call = {"jsonrpc": "2.0", "id": 1, "method": "GetTask", "params": {"id": world.ids.task, "tenant": "alice"}}
    assert "Task not found" in world.ask("bob", "POST", "/", call)["body"]
    for body in (call | claims, call | {"params": {"id": world.ids.task, **claims}}):
        assert not told(world.ask("bob", "POST", "/", body)["body"].replace("owner", "").replace("alice", ""))
    listed = world.read(world.rpc("bob", "ListTasks", {"tenant": "alice"}))
    assert world.ids.task not in json.dumps(listed)


@pytest.mark.parametrize(
    "proof",
    [
        *("alice", "Bearer alice", "Basic YWxpY2U6", "Bearer bob-0123456789abcdef, Bearer alice", "Bearer \tBEARER x"),
        *("Bearer ALICE-0123456789ABCDEF", "Bearer alice-0123456789abcde", "Bearer alice-0123456789abcdef0"),
        *("Bearer *", "bearer", "\0"),
    ],
)
@pytest.mark.parametrize("name", ["Authorization", "AUTHORIZATION", "authorization"])
def test_a_proof_that_is_none_lets_nobody_in(proof: str, name: str) -> None:
    agent = Agent(name="clerk", description="A clerk.", tools=[draw])
    for auth in ("bearer", "iam"):
        with Stage(agent, ScriptedModel(), auth=auth) as stage:
            for make in (rest_event, http_event):
                answer = stage.handler(
                    make("GET", "/tasks", headers={name: proof, "A2A-Version": "1.0"}), LocalLambdaContext(9)
                )
                assert answer["statusCode"] == 401
                assert "WWW-Authenticate".lower() in answer["headers"]
                assert not stage.aws_calls
