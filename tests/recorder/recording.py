"""A recording: what was asked, what was answered, and what is in AWS afterwards."""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

import boto3
from botocore.client import BaseClient

from agentfn import Agent
from agentfn.testing import ScriptedModel, Stage
from recorder.events import Context, rest_api, sqs
from recorder.layout import decoded, pretty, readable
from recorder.placeholders import Placeholders

DIGESTED = ("#msg#new-",)  # ids of messages whose digest does not depend on an id that the agent made
ENCODED = ("policy", "nextPageToken", "pageToken")
REGION = "eu-central-1"

Answer = dict[str, Any]


class Recording:
    """Of one story. `stage` puts an agent on a fresh AWS in memory; each stage is a section of the recording."""

    def __init__(self) -> None:
        self._sections: list[Answer] = []
        self._placeholders = Placeholders()
        self._section: Answer = {}
        self._stage: Stage

    @property
    def text(self) -> str:
        return pretty(self._sections) + "\n"

    @contextmanager
    def stage(self, agent: Agent, *script: Any, **settings: Any) -> Iterator[None]:
        """`script` is what the agent's model answers. `settings` are those of `agentfn.Settings`."""
        told = {name: "…" if name == "signing_key" else value for name, value in settings.items()}
        self._section = {"agent": agent.name, "settings": told, "exchanges": []}
        self._sections.append(self._section)
        with _sqs_calls(self._sqs_call), Stage(agent, ScriptedModel(*script), **settings) as self._stage:
            yield
            self._section["table"] = self._items()
            self._section["bucket"] = self._objects()

    def request(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        query: str = "",
        headers: Mapping[str, str] | None = None,
        caller: str = "alice",
        event: Callable[..., Any] = rest_api,
        seconds: float = 60.0,
    ) -> Answer:
        """The handler's answer to API Gateway's event. A body that is no text is sent as JSON; no caller, no token."""
        sent = body if isinstance(body, str | bytes | None) else json.dumps(body)
        token = {"Authorization": f"Bearer {caller}-0123456789abcdef"} if caller else {}
        whole = event(method, path, query, {**token, **(headers or {})}, sent)
        answer: Answer = self._stage.handler(whole, Context(seconds))
        asked = self._asked(method, path, query, body, headers, caller)
        told: Answer = {"status": answer["statusCode"], "headers": self._headers(answer["headers"], answer["body"])}
        for name in ("multiValueHeaders", "cookies"):
            if answer.get(name):
                told[name] = answer[name]
        self._exchange(asked, {**told, "body": readable(answer["body"])}, answer["isBase64Encoded"])
        return answer

    def stream(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        headers: Mapping[str, str] | None = None,
        caller: str = "alice",
        seconds: float = 60.0,
    ) -> str:
        """The body of an answer that comes part by part."""
        sent = body if isinstance(body, str | None) else json.dumps(body)
        event = rest_api(
            method, path, "", {"Authorization": f"Bearer {caller}-0123456789abcdef", **(headers or {})}, sent
        )
        parts: list[Any] = []
        self._stage.handler.stream(event, Context(seconds), parts.append)
        text = b"".join(part.get("body", b"") for part in parts).decode()
        sent_headers = [(name.decode(), value.decode()) for name, value in parts[0]["headers"]]
        told = {
            "status": parts[0]["status"],
            "headers": self._headers(dict(sent_headers), text),
            "body": readable(text),
        }
        self._exchange({"stream": self._asked(method, path, "", body, headers, caller)}, told)
        return text

    def work(self, *, seconds: float = 900.0, rounds: int = 20) -> None:
        """Hands all messages of the queue to the handler, and those that come of it, until there is none."""
        queue = boto3.client("sqs", region_name=REGION)
        (url,) = [url for url in queue.list_queues()["QueueUrls"] if url.endswith("-queue")]
        for _ in range(rounds):
            received = queue.receive_message(QueueUrl=url, MaxNumberOfMessages=10).get("Messages", [])
            if not received:
                return
            for message in received:
                answer = self._stage.handler(sqs(message), Context(seconds))
                self._exchange({"queue": readable(message["Body"])}, answer)
                if not answer["batchItemFailures"]:
                    queue.delete_message(QueueUrl=url, ReceiptHandle=message["ReceiptHandle"])
        raise AssertionError("the queue is never empty")

    def sweep(self) -> None:
        self._exchange("sweep", self._stage.handler({"agentfn": "sweep"}, Context()))

    def delivered(self, notifications: list[Any]) -> None:
        """What a webhook got."""
        self._section["webhook"] = self._placeholders.replace(notifications)

    def _exchange(self, asked: Any, answer: Any, base64: bool = False) -> None:
        if base64:
            answer = {"base64": True, **answer}
        exchange = {"asked": _policies_decoded(asked), "answer": _policies_decoded(answer)}
        self._section["exchanges"].append(self._placeholders.replace(exchange))

    def _asked(
        self, method: str, path: str, query: str, body: Any, headers: Mapping[str, str] | None, caller: str
    ) -> Any:
        where = f"{method} {path}" + (f"?{re.sub('pageToken=[^&]{10,}', 'pageToken=…', query)}" if query else "")
        text = body.decode("latin-1") if isinstance(body, bytes) else body
        asked = {where: text, "headers": headers, "caller": caller if caller != "alice" else None}
        return {name: value for name, value in asked.items() if name == where or value is not None}

    def _headers(self, headers: Mapping[str, str], body: str) -> Answer:
        """As they are. Placeholders hide a body's length, so it is checked here."""
        shown = dict(headers)
        if "content-length" in shown and body:
            assert shown["content-length"] == str(len(body.encode())), shown
            shown["content-length"] = "<length>"
        if "allow" in shown:  # the routes keep their methods in a set, whose order changes with each process
            shown["allow"] = ", ".join(sorted(shown["allow"].split(", ")))
        return shown

    def _sqs_call(self, name: str, arguments: Mapping[str, Any]) -> None:
        if name == "SendMessage":
            told = {
                "sent to SQS": readable(arguments["MessageBody"]),
                "delay": _delay(arguments.get("DelaySeconds", 0)),
            }
        elif name == "ChangeMessageVisibility":
            told = {"hidden in SQS for": arguments["VisibilityTimeout"]}
        else:
            return
        self._section["exchanges"].append(self._placeholders.replace(told))

    def _items(self) -> list[Any]:
        """The items of the table, in the order of their keys."""
        dynamodb = boto3.client("dynamodb", region_name=REGION)
        (table,) = dynamodb.list_tables()["TableNames"]
        items = dynamodb.scan(TableName=table)["Items"]
        ordered = sorted(items, key=lambda item: self._placeholders.known(item["pk"]["S"] + " " + item["sk"]["S"]))
        return [self._placeholders.replace(_item(item)) for item in ordered]

    def _objects(self) -> list[Any]:
        s3 = boto3.client("s3", region_name=REGION)
        (bucket,) = [bucket["Name"] for bucket in s3.list_buckets()["Buckets"]]
        keys = [item["Key"] for item in s3.list_objects_v2(Bucket=bucket).get("Contents", [])]
        return [
            self._placeholders.replace(_object(s3, bucket, key)) for key in sorted(keys, key=self._placeholders.known)
        ]


def _item(item: Mapping[str, Any]) -> Answer:
    """An item, attribute by attribute in alphabetic order: DynamoDB keeps none. JSON in strings can be read."""
    shown: Answer = {"pk": item["pk"], "sk": item["sk"]}
    for name in sorted(item.keys() - {"pk", "sk"}):
        [(kind, value)] = item[name].items()
        if kind == "B":
            value = readable(value.decode("latin-1"))
        elif kind == "S" and value[:1] in ("{", "["):
            value = readable(value)
        elif name == "digest" and not any(start in item["pk"]["S"] for start in DIGESTED):
            value = "<digest>"
        shown[name] = {kind: value}
    return shown


def _object(s3: Any, bucket: str, key: str) -> Answer:
    found = s3.get_object(Bucket=bucket, Key=key)
    kept = ("ContentType", "ContentDisposition", "CacheControl", "Metadata", "ContentEncoding", "ServerSideEncryption")
    tags = s3.get_object_tagging(Bucket=bucket, Key=key)["TagSet"]
    content = readable(found["Body"].read().decode("latin-1"))
    return {"key": key, **{name: found[name] for name in kept if found.get(name)}, "tags": tags, "content": content}


def _policies_decoded(value: Any) -> Any:
    """Base64 that has ids and times in it, decoded: a form's policy, and tokens of pages."""
    match value:
        case {"x-amz-signature": str()}:
            return _policies_decoded({**value, "x-amz-signature": ["<signature>"]})
        case dict():
            return {
                name: decoded(inner) if name in ENCODED and isinstance(inner, str) else _policies_decoded(inner)
                for name, inner in value.items()
            }
        case list():
            return [_policies_decoded(inner) for inner in value]
    return value


def _delay(seconds: int) -> Any:
    """Long delays are what is left of the invocation's time: a slow machine has a second less."""
    return seconds if seconds < 10 else f"about {round(seconds, -1)}"


@contextmanager
def _sqs_calls(listener: Callable[[str, Mapping[str, Any]], None]) -> Iterator[None]:
    """Tells of each call of SQS. No message is delayed: what it asked for is on record, and nothing waits."""
    original = BaseClient._make_api_call  # type: ignore[attr-defined]

    def call(self: Any, name: str, arguments: Any) -> Any:
        if self.meta.service_model.service_name == "sqs":
            listener(name, arguments)
            arguments = {**arguments, "DelaySeconds": 0} if name == "SendMessage" else arguments
        return original(self, name, arguments)

    with patch.object(BaseClient, "_make_api_call", call):
        yield
