"""A test client for an agent: its real handler on an AWS in memory, and a queue that is drained by hand."""

import base64
import json
import mimetypes
import os
from collections import Counter
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Any, Self
from unittest.mock import patch
from uuid import uuid4

from a2a.server.agent_execution import AgentExecutor

from agentfn.agent import Agent
from agentfn.aws_clients import aws_client
from agentfn.bootstrap import serve
from agentfn.lambda_handler import LambdaHandler
from agentfn.local.aws_resources import AwsResources, create_resources
from agentfn.local.lambda_events import LocalLambdaContext, queue_event, rest_event, rpc_event
from agentfn.models import Model
from agentfn.settings import Settings
from agentfn.testing.moto_support import boto3_session, serialize_calls

STAGE_REGION = "eu-central-1"
STAGE_CALLERS = ("alice", "bob")
COUNTED_SERVICES = ("dynamodb", "s3", "sqs")
WRITE_OPERATIONS = ("TransactWriteItems", "UpdateItem", "PutItem", "DeleteItem")
READ_OPERATIONS = ("GetItem", "Query", "BatchGetItem")

JsonObject = dict[str, Any]


class Stage:
    """An agent under test, as a context manager. `model` replaces the model of the environment, `executor` the loop.
    With neither, the model is AGENT_MODEL of the environment, else the first of the agent's own models.

    `settings` are settings by their variable's name in lower case, with or without the prefix: `max_steps=3`.
    `aws_calls` counts the calls of AWS by operation, such as "SendMessage"; clear it to count from there.

        with Stage(agent, ScriptedModel("Hello.")) as stage:
            task = stage.send("Hi!")
            assert task["status"]["state"] == "TASK_STATE_COMPLETED"
    """

    def __init__(
        self,
        agent: Agent,
        model: Model | None = None,
        *,
        executor: AgentExecutor | None = None,
        repeatable: bool = False,
        **settings: object,
    ) -> None:
        self._agent = agent
        self._model = model
        self._serve_options: dict[str, Any] = {"executor": executor, "repeatable": repeatable}
        self._settings = {_variable_name(name): str(value) for name, value in settings.items()}
        self._stack = ExitStack()
        self.aws_calls: Counter[str] = Counter()

    def __enter__(self) -> Self:
        with self._stack:  # where a part cannot start, those before it are closed
            self._start()
            self._stack = self._stack.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._stack.close()

    @property
    def write_count(self) -> int:
        """The number of writes to the table."""
        return sum(self.aws_calls[name] for name in WRITE_OPERATIONS)

    @property
    def read_count(self) -> int:
        """The number of reads of the table."""
        return sum(self.aws_calls[name] for name in READ_OPERATIONS)

    def new_environment(self) -> LambdaHandler:
        """A handler as a new execution environment has it. `handler` stays the first."""
        environment = {
            **self.resources.environment(),
            "AGENTFN_TOKENS": json.dumps({name: bearer_token(name) for name in STAGE_CALLERS}),
            "AGENT_MODEL": "stage",
            **self._settings,
        }
        if self._model is None and self._serve_options["executor"] is None:
            environment["AGENT_MODEL"] = os.environ.get("AGENT_MODEL") or next(iter(self._agent.models), "stage")
        if (model := self._model) is not None:
            self._agent.models = {**self._agent.models, "stage": lambda: model}
        handler = serve(self._agent, Settings.load(environment), **self._serve_options)
        self._stack.callback(handler.close)
        return handler

    def send(
        self,
        text: str = "",
        *,
        files: Mapping[str, bytes] | None = None,
        wait: bool = True,
        caller: str = "alice",
        seconds: float = 60.0,
        **message: Any,
    ) -> JsonObject:
        """Sends a message and returns the task. The invocation has `seconds`. Raises RpcError if it is rejected."""
        parts = [{"text": text}] if text else []
        parts += [_file_part(name, content) for name, content in (files or {}).items()]
        fields = {"messageId": str(uuid4()), "role": "ROLE_USER", "parts": parts, **message}
        params = {"message": fields, "configuration": {"returnImmediately": not wait}}
        task: JsonObject = self.rpc("SendMessage", params, caller=caller, seconds=seconds)["task"]
        return task

    def get(self, task_id: str, *, caller: str = "alice") -> JsonObject:
        return self.rpc("GetTask", {"id": task_id}, caller=caller)

    def cancel(self, task_id: str, *, caller: str = "alice") -> JsonObject:
        return self.rpc("CancelTask", {"id": task_id}, caller=caller)

    def rpc(self, method: str, params: Any, *, caller: str = "alice", seconds: float = 60.0) -> JsonObject:
        """Calls a JSON-RPC method and returns its result. Raises RpcError where the response is an error."""
        response = self.handler(rpc_event(method, params, auth_headers(caller)), LocalLambdaContext(seconds))
        body = json.loads(response["body"])
        if "error" in body:
            raise RpcError(body["error"])
        result: JsonObject = body["result"]
        return result

    def request(self, method: str, path: str, *, caller: str | None = None, **rest: Any) -> JsonObject:
        """Sends an HTTP request, without a token where there is no caller, and returns the handler's raw response."""
        headers = {**(auth_headers(caller) if caller else {}), **rest.pop("headers", {})}
        response: JsonObject = self.handler(rest_event(method, path, headers=headers, **rest), LocalLambdaContext(60))
        return response

    def receive_messages(self) -> list[JsonObject]:
        """Receives the messages that are visible in the queue."""
        queue = aws_client("sqs")
        messages: list[JsonObject] = []
        while batch := queue.receive_message(
            QueueUrl=self.resources.queue_url, MaxNumberOfMessages=10, AttributeNames=["All"]
        ).get("Messages"):
            messages += batch
        return messages

    def deliver_message(self, message: JsonObject, *, seconds: float = 900.0) -> JsonObject:
        """Invokes the handler with one message, and deletes the message where that succeeds, as Lambda does."""
        response: JsonObject = self.handler(queue_event(message), LocalLambdaContext(seconds))
        if not response["batchItemFailures"]:
            aws_client("sqs").delete_message(QueueUrl=self.resources.queue_url, ReceiptHandle=message["ReceiptHandle"])
        return response

    def drain_queue(self, *, seconds: float = 900.0, max_rounds: int = 50) -> int:
        """Delivers visible messages until there are none, at most `max_rounds` times. Returns the number of rounds."""
        for count in range(max_rounds):
            messages = self.receive_messages()
            if not messages:
                return count
            for message in messages:
                self.deliver_message(message, seconds=seconds)
        raise AssertionError(f"the queue was not empty after {max_rounds} rounds")

    def sweep(self, *, seconds: float = 60.0) -> JsonObject:
        """Invokes the handler with the event of the schedule."""
        response: JsonObject = self.handler({"agentfn": "sweep"}, LocalLambdaContext(seconds))
        return response

    def table_items(self) -> list[JsonObject]:
        """All items in the table."""
        return list(aws_client("dynamodb").scan(TableName=self.resources.table)["Items"])

    def _start(self) -> None:
        from moto import mock_aws
        from moto.core.botocore_stubber import BotocoreStubber

        self._stack.enter_context(patch.dict(os.environ, AWS_DEFAULT_REGION=STAGE_REGION, AWS_REGION=STAGE_REGION))
        self._stack.enter_context(mock_aws())
        self._stack.enter_context(patch("boto3.DEFAULT_SESSION", boto3_session()))
        self._stack.enter_context(patch.object(BotocoreStubber, "__call__", serialize_calls(BotocoreStubber.__call__)))
        aws_client.cache_clear()
        self._stack.callback(aws_client.cache_clear)
        self.resources: AwsResources = create_resources(f"stage-{uuid4().hex[:8]}", STAGE_REGION, aws_client)
        for service in COUNTED_SERVICES:
            aws_client(service).meta.events.register("before-call", self._count_call)
        self.handler = self.new_environment()
        self.aws_calls.clear()

    def _count_call(self, model: Any, **_: Any) -> None:
        self.aws_calls[model.name] += 1


class RpcError(Exception):
    """A JSON-RPC error response: `code` and `message` are its fields."""

    def __init__(self, error: JsonObject) -> None:
        super().__init__(f"{error['code']}: {error['message']}")
        self.code = error["code"]
        self.message = error["message"]


def bearer_token(caller: str) -> str:
    return f"{caller}-0123456789abcdef"


def auth_headers(caller: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {bearer_token(caller)}"}


def _file_part(name: str, content: bytes | Path) -> JsonObject:
    raw = content.read_bytes() if isinstance(content, Path) else content
    media_type = mimetypes.guess_type(name)[0] or "application/octet-stream"
    return {"raw": base64.b64encode(raw).decode(), "filename": name, "mediaType": media_type}


def _variable_name(keyword: str) -> str:
    """max_steps is AGENTFN_MAX_STEPS, and agent_model is AGENT_MODEL. Raises TypeError for an unknown setting."""
    for name in (keyword.upper(), f"AGENTFN_{keyword.upper()}"):
        if name in Settings.variables():
            return name
    raise TypeError(f"there is no setting {keyword}")
