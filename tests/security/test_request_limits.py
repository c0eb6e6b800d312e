"""Every limit of what a caller may send: below it and at it he is served, above it he is told, and nothing is kept."""

import base64
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

import pytest
import requests

from agentfn import Agent, Settings
from agentfn.a2a import authentication_middleware, inbound_message, referenced_tasks
from agentfn.a2a.files import file_endpoints
from agentfn.a2a.push import push_configs
from agentfn.aws_clients import aws_client
from agentfn.fetch import address_policy
from agentfn.testing import LocalLambdaContext, ScriptedModel, Stage, rest_event
from agentfn.testing.stage import auth_headers
from agentfn.tools.workspaces import file_names
from support.protocol_clients import CLIENTS, ProtocolClient

pytestmark = pytest.mark.slow

HOOK = "https://93.184.216.34/hook"
SET: dict[str, Any] = {
    "max_body_size": 400_000,
    "max_files": 3,
    "max_file_size": 1_000,
    "max_files_size": 1_500,
    "max_text_chars": 5_000,
    "max_upload_size": 2_000,
}
JSON = {"Content-Type": "application/json", "A2A-Version": "1.0"}
Answer = dict[str, Any]


class Caller:
    """Sends one request a time, and knows what is kept."""

    def __init__(self, stage: Stage) -> None:
        self.stage = stage
        self.task = stage.send("Hi!")["id"]

    def ask(self, method: str, path: str, body: str | None = None, **headers: str) -> Answer:
        sent = {**JSON, **auth_headers("alice"), **{name.replace("_", "-"): value for name, value in headers.items()}}
        answer: Answer = self.stage.handler(rest_event(method, path, body, sent), LocalLambdaContext(30))
        return answer

    def rpc(self, method: str, params: Any, **headers: str) -> Answer:
        body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}, ensure_ascii=False)
        return self.ask("POST", "/", body, **headers)

    def send(self, *parts: Any, headers: dict[str, str] | None = None, **rest: Any) -> Answer:
        said = {"messageId": str(uuid4()), "role": "ROLE_USER", "parts": list(parts) or [{"text": "Hi!"}], **rest}
        return self.rpc("SendMessage", {"message": said}, **(headers or {}))

    def push(self, **config: Any) -> Answer:
        return self.rpc("CreateTaskPushNotificationConfig", {"taskId": self.task, "url": HOOK, "id": "one", **config})

    def upload(self, **wish: Any) -> Answer:
        return self.ask("POST", "/uploads", json.dumps({"name": "a", **wish}))

    def kept(self) -> Any:
        bucket = self.stage.resources.bucket
        objects = [item["Key"] for item in aws_client("s3").list_objects_v2(Bucket=bucket).get("Contents", [])]
        return sorted(self.stage.table_items(), key=str), sorted(objects), self.stage.aws_calls["SendMessage"]


@pytest.fixture(scope="module")
def caller() -> Iterator[Caller]:
    agent = Agent(name="clerk", description="A clerk.")
    with Stage(agent, ScriptedModel.from_function(lambda _: "Done."), **SET) as stage:
        yield Caller(stage)


def file(size: int, name: str = "a.bin") -> Answer:
    return {"raw": base64.b64encode(bytes(size)).decode(), "filename": name}


def deep(levels: int) -> Any:
    """That many objects in each other, which is what protobuf finds hardest."""
    value: Any = {}
    for _ in range(levels - 1):
        value = {"a": value}
    return value


def body_of(size: int) -> str:
    """A good request of that many bytes, most of them blanks around it."""
    call = {"jsonrpc": "2.0", "id": 1, "method": "ListTasks", "params": {}}
    return json.dumps(call).ljust(size)


def uploaded(caller: Caller, size: int) -> Answer:
    offer = json.loads(caller.upload()["body"])
    requests.post(offer["url"], data=offer["fields"], files={"file": bytes(size)}, timeout=5)
    return caller.send(offer["part"])


def references(caller: Caller, count: int) -> Answer:
    return caller.send(referenceTaskIds=[caller.task] * count)


def pushes(caller: Caller, count: int) -> Answer:
    """The last of that many of one task."""
    said = {"message": {"messageId": str(uuid4()), "role": "ROLE_USER", "parts": [{"text": "Hi!"}]}}
    task = json.loads(caller.rpc("SendMessage", said)["body"])["result"]["task"]["id"]
    for number in range(count - 1):
        caller.push(taskId=task, id=f"n{number}")
    return caller.push(taskId=task, id="last")


def rest_of(caller: Caller, size: int) -> Answer:
    """A message whose metadata and names have that many bytes together."""
    from a2a.types import Message, Part
    from google.protobuf.json_format import ParseDict

    said: Answer = {"messageId": str(uuid4()), "role": "ROLE_USER", "metadata": {"a": "x" * (size - 100)}}
    message = ParseDict(said, Message(parts=[Part(text="Hi!")]))
    said["metadata"] = {"a": "x" * (size - 100 + size - (message.ByteSize() - 3))}
    return caller.rpc("SendMessage", {"message": {**said, "parts": [{"text": "Hi!"}]}})


@dataclass(frozen=True)
class Limit:
    """`most` has its home elsewhere; `ask` sends what has that much. `why` is part of what is told above it."""

    most: int
    ask: Callable[[Caller, int], Answer]
    why: str


LIMITS: dict[str, Limit] = {
    "bytes of a body": Limit(SET["max_body_size"], lambda c, n: c.ask("POST", "/", body_of(n)), "too large"),
    "bytes of a body over plain HTTP": Limit(
        SET["max_body_size"], lambda c, n: c.ask("POST", "/uploads", '{"name": "a"}'.ljust(n)), "too large"
    ),
    "files": Limit(SET["max_files"], lambda c, n: c.send(*[file(1)] * n), "files"),
    "bytes of a file": Limit(SET["max_file_size"], lambda c, n: c.send(file(n)), "1,000 are allowed"),
    "bytes of a data URI": Limit(
        SET["max_file_size"], lambda c, n: c.send({"url": f"data:,{'x' * n}"}), "1,000 are allowed"
    ),
    "bytes of all files": Limit(SET["max_files_size"], lambda c, n: c.send(file(1_000), file(n - 1_000)), "together"),
    "bytes of an upload": Limit(SET["max_upload_size"], uploaded, "2,000 are allowed"),
    "characters of text": Limit(SET["max_text_chars"], lambda c, n: c.send({"text": "é" * n}), "characters of text"),
    "characters of data": Limit(
        SET["max_text_chars"], lambda c, n: c.send({"data": {"a": "x" * (n - len('{"a": ""}'))}}), "characters of text"
    ),
    "parts": Limit(inbound_message.MAX_PART_COUNT, lambda c, n: c.send(*[{"text": "x"}] * n), "parts"),
    "bytes of metadata": Limit(inbound_message.MAX_ENVELOPE_BYTES, rest_of, "metadata, names and extensions"),
    "depth of metadata": Limit(
        inbound_message.MAX_NESTING_DEPTH, lambda c, n: c.send(metadata=deep(n)), "metadata is nested"
    ),
    "depth of a part's metadata": Limit(
        inbound_message.MAX_NESTING_DEPTH,
        lambda c, n: c.send({"text": "x", "metadata": deep(n)}),
        "metadata of part 1 is nested",
    ),
    "depth of data": Limit(
        inbound_message.MAX_NESTING_DEPTH, lambda c, n: c.send({"data": deep(n)}), "data of part 1 is nested"
    ),
    "a message's id": Limit(
        inbound_message.MAX_ID_CHARS, lambda c, n: c.send(messageId=uuid4().hex + "é" * (n - 32)), "message_id"
    ),
    "a context's id": Limit(inbound_message.MAX_ID_CHARS, lambda c, n: c.send(contextId="é" * n), "context_id"),
    "a context's id in a list": Limit(
        inbound_message.MAX_ID_CHARS, lambda c, n: c.rpc("ListTasks", {"contextId": "é" * n}), "context_id"
    ),
    "an idempotency key": Limit(
        inbound_message.MAX_ID_CHARS,
        lambda c, n: c.send(headers={"Idempotency_Key": uuid4().hex + "x" * (n - 32)}),
        "Idempotency-Key",
    ),
    "references": Limit(referenced_tasks.MAX_REFERENCE_COUNT, references, "reference_task_ids"),
    "tasks of a page": Limit(100, lambda c, n: c.rpc("ListTasks", {"pageSize": n}), "page size|page_size|pageSize"),
    "push configurations": Limit(push_configs.MAX_CONFIG_COUNT, pushes, "push configurations"),
    "a push configuration's id": Limit(
        push_configs.MAX_CONFIG_ID_CHARS, lambda c, n: c.push(id="é" * n), "id has more than"
    ),
    "a push configuration's url": Limit(
        address_policy.MAX_URL_CHARS, lambda c, n: c.push(url=HOOK + "x" * (n - len(HOOK))), "url cannot be used"
    ),
    "a push configuration's token": Limit(push_configs.MAX_SECRET_CHARS, lambda c, n: c.push(token="x" * n), "4,096"),
    "a push configuration's scheme": Limit(
        push_configs.MAX_SECRET_CHARS, lambda c, n: c.push(authentication={"scheme": "x" * n}), "4,096"
    ),
    "a push configuration's credentials": Limit(
        push_configs.MAX_SECRET_CHARS,
        lambda c, n: c.push(authentication={"scheme": "Bearer", "credentials": "x" * n}),
        "4,096",
    ),
    "bytes of an upload that is asked for": Limit(SET["max_upload_size"], lambda c, n: c.upload(size=n), "size"),
    "an upload's media type": Limit(
        file_endpoints.MAX_MEDIA_TYPE_CHARS, lambda c, n: c.upload(mediaType="a/" + "x" * (n - 2)), "mediaType"
    ),
    "characters of all headers": Limit(
        authentication_middleware.MAX_HEADER_CHARS,
        lambda c, n: c.ask("GET", "/tasks", A2A_Extensions=padded(n)),
        "headers",
    ),
}


def padded(size: int) -> str:
    """An extension's name that fills the headers up to that many characters."""
    event = rest_event("GET", "/tasks", None, {**JSON, **auth_headers("alice"), "A2A-Extensions": ""})
    return "x" * (size - sum(len(name) + len(value) for name, value in event["headers"].items()))


def refused(answer: Answer) -> str:
    """What a caller is told; empty where he is served. It is no fault of ours."""
    told = json.loads(answer["body"])
    error: Any = told.get("error") or ""
    assert answer["statusCode"] < 500
    if answer["statusCode"] == 200:
        assert not error or error["code"] in (-32600, -32602), told
    return json.dumps(error, ensure_ascii=False) if error else ""


@pytest.mark.parametrize("what", LIMITS)
def test_up_to_a_limit_a_caller_is_served(caller: Caller, what: str) -> None:
    limit = LIMITS[what]
    for size in (limit.most - 1, limit.most):
        assert refused(limit.ask(caller, size)) == ""


@pytest.mark.parametrize("what", LIMITS)
def test_above_it_he_is_told_and_nothing_is_kept(caller: Caller, what: str) -> None:
    limit = LIMITS[what]
    if what not in ("push configurations", "bytes of an upload"):  # they need something that is there
        before = caller.kept()
        error = refused(limit.ask(caller, limit.most + 1))
        assert caller.kept() == before
    else:
        error = refused(limit.ask(caller, limit.most + 1))
    assert any(why.lower() in error.lower() for why in limit.why.split("|")), error
    assert len(error) < 1_000, "it is not sent back"


def test_every_setting_of_what_a_caller_may_send_has_its_case() -> None:
    variables = (name.removeprefix("AGENTFN_").lower() for name in Settings.variables())
    limiting = {name for name in variables if name.startswith("max_")}
    of_the_loop = {
        *("max_steps", "max_tokens", "max_cost", "max_history_chars", "max_history_tokens", "max_retry_prompts"),
        *("max_parallel_loops", "max_parallel_tools", "max_process_tools", "max_argument_chars", "max_output_chars"),
        *("max_repeats", "max_runs", "max_idle_runs"),
    }
    assert limiting - of_the_loop == set(SET)


@pytest.mark.parametrize("speaker", CLIENTS, ids=str)
@pytest.mark.parametrize("where", ["metadata", "metadata of a part", "data"])
def test_what_is_as_deep_as_is_allowed_can_be_read_ever_after(play: Any, speaker: ProtocolClient, where: str) -> None:
    """In a task, in a list of them, in a stream, and by a client of the other protocol."""
    stage = play(ScriptedModel.from_function(lambda _: "Done."), streaming=True)
    said = deep(inbound_message.MAX_NESTING_DEPTH)
    part = {"data": said} if where == "data" else {"text": "Hi!", **({"metadata": said} if "part" in where else {})}
    rest = {"metadata": said} if where == "metadata" else {}
    sent = speaker.send(stage, part, **rest)
    assert not sent.error
    task = speaker.task(sent)
    for other in CLIENTS:
        assert other.call(stage, "get", task["id"]).result["id"] == task["id"]
    assert stage.rpc("ListTasks", {"historyLength": 10})["tasks"][0]["id"] == task["id"]
    events = speaker.stream(stage, "stream", speaker.request(part, **rest)).events
    assert not [event for event in events if "error" in event]


@pytest.mark.parametrize("speaker", CLIENTS, ids=str)
@pytest.mark.parametrize("levels", [*range(21, 60, 3), 100, 300, 900])
def test_whatever_is_deeper_is_the_caller_s_fault(play: Any, speaker: ProtocolClient, levels: int) -> None:
    stage = play(ScriptedModel())
    for part, rest in (({"text": "Hi!"}, {"metadata": deep(levels)}), ({"data": deep(levels)}, {})):
        assert speaker.send(stage, part, **rest).error in ("INVALID_PARAMS", "INVALID_REQUEST", "PARSE_ERROR")
    assert stage.table_items() == []


@pytest.mark.parametrize("length", [inbound_message.MAX_ID_CHARS, 2_048, 70_000])
def test_an_id_that_no_key_can_hold_is_one_that_nothing_has(caller: Caller, length: int) -> None:
    """DynamoDB itself takes a key of more than 2,048 bytes for an error."""
    for name in ("x" * length, "é" * length):
        caller.stage.aws_calls.clear()
        for method, params in (
            ("GetTask", {"id": name}),
            ("CancelTask", {"id": name}),
            ("GetTaskPushNotificationConfig", {"taskId": caller.task, "id": name}),
            ("GetTaskPushNotificationConfig", {"taskId": name, "id": name}),
        ):
            assert json.loads(caller.rpc(method, params)["body"])["error"]["code"] == -32001
        gone = caller.rpc("DeleteTaskPushNotificationConfig", {"taskId": caller.task, "id": name})
        assert "error" not in json.loads(gone["body"])
        asked = caller.stage.aws_calls["GetItem"] + caller.stage.write_count
        assert length <= 1_024 or asked <= 4, "what cannot be a key is not asked for"


def test_a_file_s_name_is_cut_and_not_refused(caller: Caller) -> None:
    for length in (file_names.MAX_NAME_BYTES - 1, file_names.MAX_NAME_BYTES, file_names.MAX_NAME_BYTES + 1, 10_000):
        answer = json.loads(caller.send(file(1, "x" * length))["body"])
        [kept] = [part["filename"] for part in answer["result"]["task"]["history"][0]["parts"] if "filename" in part]
        assert kept == "x" * min(length, file_names.MAX_NAME_BYTES)
        offer = json.loads(caller.upload(name="x" * length)["body"])
        assert offer["part"]["filename"] == kept


def test_a_history_is_cut_to_what_was_asked_for_however_much_that_is(caller: Caller) -> None:
    for length, told in ((0, 0), (1, 1), (2**31 - 1, 1)):
        task = json.loads(caller.rpc("GetTask", {"id": caller.task, "historyLength": length})["body"])["result"]
        assert len(task.get("history", [])) == told
    for length in (-1, 2**31):
        assert refused(caller.rpc("GetTask", {"id": caller.task, "historyLength": length}))
