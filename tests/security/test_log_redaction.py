"""What the log says of a day with secrets in it: nothing of them, whatever goes wrong."""

import base64
import io
import json
import logging
import re
from collections.abc import Callable, Iterator
from typing import Any
from uuid import uuid4

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec

from agentfn import Agent, File, InputFile, Output, ToolError, tool
from agentfn.aws_clients import aws_client
from agentfn.errors import ModelRequestRejected, ModelUnavailable
from agentfn.telemetry import logger
from agentfn.testing import LocalLambdaContext, ScriptedModel, Stage, calls, http_event, rest_event
from agentfn.testing.stage import bearer_token
from support.raw_http_server import RawHttpServer, http_response

NAMES = [
    *("message", "content", "filename", "argument", "result", "data", "metadata", "model-key", "push-token"),
    *("push-credentials", "push-query", "upload", "data-uri", "tool-name", "hostile-name", "hostile-value"),
    *("header-value", "query-value", "jwt-payload", "context"),
]
SECRET = {name: f"SECRET-{name}-{uuid4().hex}" for name in NAMES}
PEM = (
    ec.generate_private_key(ec.SECP256R1())
    .private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    .decode()
)
JWT = ".".join(base64.urlsafe_b64encode(SECRET["jwt-payload"].encode()).decode().rstrip("=") for _ in range(3))
SIGNATURE = re.compile(
    r"X-Amz-Signature=([0-9a-f]{64})|\"x-amz-signature\": ?\"([0-9a-f]{64})\"|\"policy\": ?\"([\w+/=]+)"
)
JSON = {"Content-Type": "application/json", "A2A-Version": "1.0", "Idempotency-Key": SECRET["header-value"]}


@tool(idempotent=True)
def draw(text: str) -> Output:
    """Draws."""
    made = [File(f"{SECRET['filename']}.svg", SECRET["content"].encode())]
    return Output(SECRET["result"], files=made, data={"a": SECRET["data"]})


@tool(idempotent=True)
def count(file: InputFile) -> int:
    """Counts the bytes of a file."""
    return len(file.read_bytes())


@tool(idempotent=True)
def refuse(text: str) -> str:
    """Refuses."""
    raise ToolError(f"{text} cannot be had")


@tool(idempotent=True)
def explode(text: str) -> str:
    """Fails."""
    raise RuntimeError("the fuse was short")


AGENT = Agent(name="clerk", description="A clerk.", tools=[draw, count, refuse, explode])
USES = [
    calls("draw", text=SECRET["argument"]),
    calls("refuse", text=SECRET["argument"]),
    calls("explode", text=SECRET["argument"]),
    calls("draw", text={"wrong": SECRET["argument"]}),
    calls("draw", other=SECRET["argument"]),
    calls(SECRET["tool-name"], text="x"),
    calls("count", file=SECRET["filename"]),
]


class Log:
    """All that is written meanwhile: by our logger as it writes, and by all others as by Lambda's own handler."""

    def __init__(self) -> None:
        self._text = io.StringIO()
        self.answers: list[str] = []
        self.ours, self.theirs = logging.StreamHandler(self._text), logging.StreamHandler(self._text)
        self.ours.setFormatter(logger.registered_formatter)

    def clean(self, *more: str) -> str:
        """The whole of it, which has none of the secrets, nor a signature of any answer."""
        signatures = [part for text in self.answers for found in SIGNATURE.findall(text) for part in found if part]
        key = [line for line in PEM.splitlines() if "-" not in line]
        text = self._text.getvalue() + "".join(more)
        everything = [*SECRET.values(), *signatures, *key, *JWT.split("."), bearer_token("alice"), bearer_token("bob")]
        encoded = [base64.b64encode(secret.encode()).decode()[:-4] for secret in SECRET.values()]
        assert [secret for secret in [*everything, *encoded] if secret in text] == []
        return text


@pytest.fixture
def log() -> Iterator[Log]:
    log, root = Log(), logging.getLogger()
    level = root.level
    logger.addHandler(log.ours)
    root.addHandler(log.theirs)
    root.setLevel(logging.INFO)
    yield log
    root.setLevel(level)
    root.removeHandler(log.theirs)
    logger._logger.removeHandler(log.ours)


def stage(*script: Any, **more: Any) -> Stage:
    settings = {"fetch_loopback": True, "mcp": True, "streaming": True, "signing_key": PEM, "push_signed": True}
    settings |= {"agent_model_api_key": SECRET["model-key"], "model_retries": 0, "request_seconds": 20}
    return Stage(AGENT, ScriptedModel(*script), **{**settings, **more})


def ask(log: Log, stage: Stage, method: str, path: str, body: Any = None, **rest: Any) -> dict[str, Any]:
    headers = {**JSON, "Authorization": f"Bearer {bearer_token('alice')}", **rest.pop("headers", {})}
    text = body if isinstance(body, str | bytes | None) else json.dumps(body)
    said: dict[str, Any] = stage.handler(rest_event(method, path, text, headers, **rest), LocalLambdaContext(30))
    log.answers.append(str(said["body"]))
    return said


def message(hook: str = "", **rest: Any) -> dict[str, Any]:
    raw = base64.b64encode(SECRET["content"].encode()).decode()
    parts = [
        {"text": SECRET["message"]},
        {"data": {"a": SECRET["data"]}},
        {"raw": raw, "filename": SECRET["filename"], "mediaType": "text/plain"},
        {"url": f"data:text/plain,{SECRET['data-uri']}"},
    ]
    metadata = {"a": SECRET["metadata"]}
    said = {"messageId": str(uuid4()), "role": "ROLE_USER", "parts": parts, "metadata": metadata, **rest}
    push = {
        "url": f"{hook}/hook?key={SECRET['push-query']}",
        "token": SECRET["push-token"],
        "authentication": {"scheme": "Bearer", "credentials": SECRET["push-credentials"]},
    }
    configuration = {"taskPushNotificationConfig": push} if hook else {}
    return {"message": said, "configuration": configuration}


def told(stage: Stage) -> None:
    """Delivers what is in the queue, due or not."""
    from moto.sqs.models import sqs_backends

    for account in sqs_backends.values():
        for region in account.values():
            for queue in region.queues.values():
                for waiting in queue._messages:
                    waiting.delayed_until = 0
    stage.drain_queue()


def test_a_day_on_which_all_goes_well_is_logged_without_what_was_said(
    log: Log, capfd: pytest.CaptureFixture[str]
) -> None:
    with RawHttpServer(http_response(b"")) as hook, stage(USES[0], "Done.", *USES[1:], SECRET["result"]) as played:
        sent = ask(log, played, "POST", "/message:send", message(hook.url))
        task = json.loads(sent["body"])["task"]
        offer = json.loads(ask(log, played, "POST", "/uploads", {"name": SECRET["upload"]})["body"])
        assert offer["id"]
        ask(log, played, "GET", f"/tasks/{task['id']}")
        ask(log, played, "GET", "/tasks", query=f"contextId={SECRET['context']}&includeArtifacts=true")
        file = next(part for part in task["artifacts"][0]["parts"] if "url" in part)
        path = "/files/" + file["metadata"]["agentfn"]["file"].rsplit("/", 1)[-1]
        log.answers.append(ask(log, played, "GET", path)["headers"]["location"])
        configs = f"/tasks/{task['id']}/pushNotificationConfigs"
        ask(log, played, "GET", configs)
        again = message(hook.url)
        again["message"]["parts"][0]["text"] += "again"
        ask(log, played, "POST", "/message:stream", again, headers={"Idempotency-Key": "other"})
        told(played)
        assert hook.bodies
        played.sweep()
    assert any(SIGNATURE.search(text) for text in log.answers)
    assert "task" in log.clean(*capfd.readouterr())


def test_a_tool_that_is_used_by_mcp_is_logged_by_its_name_alone(log: Log, capfd: pytest.CaptureFixture[str]) -> None:
    uri = f"data:text/plain;name={SECRET['filename']},{SECRET['data-uri']}"
    with stage() as played:
        for name, arguments in [
            ("draw", {"text": SECRET["argument"]}),
            ("refuse", {"text": SECRET["argument"]}),
            ("explode", {"text": SECRET["argument"]}),
            ("draw", {"text": [SECRET["argument"]]}),
            ("draw", {SECRET["argument"]: 1}),
            ("count", {"file": uri}),
            ("count", {"file": SECRET["data-uri"]}),
            (SECRET["tool-name"], {"a": SECRET["argument"]}),
        ]:
            call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": name, "arguments": arguments}}
            accept = {"Accept": "application/json, text/event-stream"}
            assert ask(log, played, "POST", "/mcp", call, headers=accept)["statusCode"] == 200
        for body in ({"method": SECRET["hostile-value"]}, [SECRET["hostile-value"]], f'{{"{SECRET["hostile-name"]}": '):
            ask(log, played, "POST", "/mcp", body)
            ask(
                log,
                played,
                "POST",
                "/mcp",
                body,
                headers={"Origin": f"https://{SECRET['header-value']}.test", **accept},
            )
            ask(log, played, "POST", "/mcp", body, headers={"MCP-Protocol-Version": SECRET["header-value"], **accept})
    assert "draw" in log.clean(*capfd.readouterr())


@pytest.mark.parametrize(
    "failure",
    [
        ModelUnavailable("the provider is overloaded"),
        ModelRequestRejected("the provider refused it"),
        ZeroDivisionError("division by zero"),
    ],
    ids=lambda failure: type(failure).__name__,
)
def test_a_model_that_fails_is_logged_and_not_what_it_was_asked(
    log: Log, capfd: pytest.CaptureFixture[str], failure: Exception
) -> None:
    with stage(*USES[:2], *[failure] * 3) as played:
        ask(log, played, "POST", "/message:send", message())
        played.drain_queue(max_rounds=5)
    log.clean(*capfd.readouterr())


def without_table(stage: Stage) -> None:
    aws_client("dynamodb").delete_table(TableName=stage.resources.table)


def without_queue(stage: Stage) -> None:
    aws_client("sqs").delete_queue(QueueUrl=stage.resources.queue_url)


def without_objects(stage: Stage) -> None:
    s3, bucket = aws_client("s3"), stage.resources.bucket
    for item in s3.list_objects_v2(Bucket=bucket).get("Contents", []):
        s3.delete_object(Bucket=bucket, Key=item["Key"])
    s3.delete_bucket(Bucket=bucket)


@pytest.mark.parametrize("fail", [without_table, without_queue, without_objects], ids=lambda fail: fail.__name__)
def test_an_aws_that_fails_is_logged_and_not_what_was_to_be_kept(
    log: Log, capfd: pytest.CaptureFixture[str], fail: Callable[[Stage], None]
) -> None:
    with RawHttpServer(http_response(b"", status="500 Oh")) as hook, stage(*USES, *["Done."] * 9) as played:
        sent = ask(log, played, "POST", "/message:send", message(hook.url, messageId=SECRET["context"]))
        task = json.loads(sent["body"])["task"]["id"]
        waiting = played.receive_messages()
        fail(played)
        key = {"Idempotency-Key": "other"}
        ask(log, played, "POST", "/message:send", message(hook.url, contextId=SECRET["context"]), headers=key)
        ask(log, played, "GET", f"/tasks/{task}")
        ask(log, played, "GET", "/tasks", query=f"contextId={SECRET['context']}")
        ask(log, played, "GET", f"/files/{task}.{'0' * 32}")
        if fail is not without_queue:
            for one in waiting:
                played.deliver_message(one)
    assert "failed" in log.clean(*capfd.readouterr())


def test_a_webhook_that_cannot_be_reached_is_logged_without_its_address_and_credentials(
    log: Log, capfd: pytest.CaptureFixture[str]
) -> None:
    with stage("Done.") as played:
        ask(log, played, "POST", "/message:send", message("http://127.0.0.1:1024"))
        for _ in range(3):
            told(played)
    assert "webhook" in log.clean(*capfd.readouterr())


HOSTILE: list[Any] = [
    {"jsonrpc": "2.0", "id": 1, "method": SECRET["hostile-value"], "params": {}},
    {"jsonrpc": "2.0", "id": 1, "method": "GetTask", "params": {SECRET["hostile-name"]: SECRET["hostile-value"]}},
    {"jsonrpc": "2.0", "id": 1, "method": "GetTask", "params": {"id": {"a": SECRET["hostile-value"]}}},
    {"jsonrpc": "2.0", "id": 1, "method": "GetTask", "params": [SECRET["hostile-value"]]},
    {"jsonrpc": "2.0", "id": [SECRET["hostile-value"]], "method": "GetTask", "params": {}},
    {"jsonrpc": SECRET["hostile-value"], "id": 1, "method": "GetTask"},
    {SECRET["hostile-name"]: SECRET["hostile-value"]},
    [SECRET["hostile-value"]],
    f'{{"{SECRET["hostile-name"]}": "{SECRET["hostile-value"]}',
    f'{{"{SECRET["hostile-name"]}": 1, "{SECRET["hostile-name"]}": 2}}',
    {"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": {"message": SECRET["hostile-value"]}},
    {"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": {"message": {"role": SECRET["hostile-value"]}}},
    {"jsonrpc": "2.0", "id": 1, "method": "message/send", "params": {"message": {"role": SECRET["hostile-value"]}}},
    {"jsonrpc": "2.0", "id": 1, "method": "message/send", "params": {"message": {"parts": [SECRET["hostile-value"]]}}},
    {"jsonrpc": "2.0", "id": 1, "method": "tasks/get", "params": {"id": [SECRET["hostile-value"]]}},
    {"message": {"role": SECRET["hostile-value"], SECRET["hostile-name"]: 1}},
    {"name": SECRET["upload"], "size": SECRET["hostile-value"]},
]
PATHS = ["/", "/message:send", "/v1/message:send", "/v1/message:stream", "/uploads", "/tasks/x/pushNotificationConfigs"]


def test_what_a_hostile_request_says_is_not_repeated(log: Log, capfd: pytest.CaptureFixture[str]) -> None:
    with stage() as played:
        for body in HOSTILE:
            for path in PATHS:
                ask(log, played, "POST", path, body)
        for path in ("/tasks/x", "/files/x", "/nowhere", "/mcp"):
            ask(log, played, "GET", path, query=f"{SECRET['hostile-name']}={SECRET['query-value']}")
        for query in ("pageSize", "pageToken", "status", "statusTimestampAfter", "historyLength", "A2A-Version"):
            ask(log, played, "GET", "/tasks", query=f"{query}={SECRET['query-value']}")
        for name in ("A2A-Version", "A2A-Extensions", "Content-Type", "Host", "X-Forwarded-Proto"):
            ask(log, played, "POST", "/", HOSTILE[1], headers={name: SECRET["header-value"]})
    log.clean(*capfd.readouterr())


@pytest.mark.parametrize(
    "settings",
    [{}, {"auth": "iam"}, {"auth": "jwt", "jwt_issuer": "https://127.0.0.1:1", "jwt_audience": "a"}],
    ids=["bearer", "iam", "jwt"],
)
def test_a_proof_that_is_refused_is_not_repeated(
    log: Log, capfd: pytest.CaptureFixture[str], settings: dict[str, str]
) -> None:
    with stage(**settings) as played:
        for proof in (f"Bearer {JWT}", f"Bearer {SECRET['header-value']}", f"Basic {SECRET['header-value']}", JWT):
            for make in (rest_event, http_event):
                headers = {**JSON, "Authorization": proof, "X-Api-Key": SECRET["header-value"]}
                played.handler(make("GET", "/tasks", headers=headers), LocalLambdaContext(9))
    log.clean(*capfd.readouterr())
