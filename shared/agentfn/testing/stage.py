"""An agent on an AWS in memory: the real handler, and a queue that is pumped by hand."""

import base64
import functools
import json
import mimetypes
import os
import threading
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Any, Self
from unittest.mock import patch
from uuid import uuid4

from a2a.server.agent_execution import AgentExecutor

from agentfn.agent import Agent
from agentfn.handler import Doors, serve
from agentfn.local.aws import Resources, make_resources
from agentfn.local.lambda_ import LambdaContext, queue_event, rest_event, rpc_event
from agentfn.models import Model
from agentfn.settings import Settings, variable
from agentfn.wiring import client

REGION = "eu-central-1"
CALLERS = ("alice", "bob")
SERVICES = ("dynamodb", "s3", "sqs")
WRITES = ("TransactWriteItems", "UpdateItem", "PutItem", "DeleteItem")
READS = ("GetItem", "Query", "BatchGetItem")

Answer = dict[str, Any]


class Stage:
    """Use as a context manager. `model` stands in for whatever the environment would name, or `executor` for the loop.
    With neither, AGENT_MODEL of the environment is asked, or the first of the agent's own models.

    `calls` counts the calls of AWS by operation, as "SendMessage"; clear it to count from there.

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
        self._serving: dict[str, Any] = {"executor": executor, "repeatable": repeatable}
        self._settings = {variable(name): str(value) for name, value in settings.items()}
        self._stack = ExitStack()
        self.calls: Counter[str] = Counter()

    def __enter__(self) -> Self:
        with self._stack:  # what is begun ends, where something after it cannot begin
            self._begin()
            self._stack = self._stack.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._stack.close()

    @property
    def writes(self) -> int:
        """Writes to the table so far."""
        return sum(self.calls[name] for name in WRITES)

    @property
    def reads(self) -> int:
        return sum(self.calls[name] for name in READS)

    def new_process(self) -> Doors:
        """The handler as a fresh execution environment has it."""
        environment = {
            **self.resources.environment(),
            "AGENTFN_TOKENS": json.dumps({name: token_of(name) for name in CALLERS}),
            "AGENT_MODEL": "stage",
            **self._settings,
        }
        if self._model is None and self._serving["executor"] is None:
            environment["AGENT_MODEL"] = os.environ.get("AGENT_MODEL") or next(iter(self._agent.models), "stage")
        if (model := self._model) is not None:
            self._agent.models = {**self._agent.models, "stage": lambda: model}
        doors = serve(self._agent, Settings.load(environment), **self._serving)
        self._stack.callback(doors.close)
        return doors

    def send(
        self,
        text: str = "",
        *,
        files: Mapping[str, bytes] | None = None,
        wait: bool = True,
        caller: str = "alice",
        seconds: float = 60.0,
        **message: Any,
    ) -> Answer:
        """Sends a message and returns the task. Raises RpcError where the agent refused it."""
        parts = [{"text": text}] if text else []
        parts += [_file_part(name, content) for name, content in (files or {}).items()]
        said = {"messageId": str(uuid4()), "role": "ROLE_USER", "parts": parts, **message}
        params = {"message": said, "configuration": {"returnImmediately": not wait}}
        task: Answer = self.rpc("SendMessage", params, caller=caller, seconds=seconds)["task"]
        return task

    def get(self, task_id: str, *, caller: str = "alice") -> Answer:
        return self.rpc("GetTask", {"id": task_id}, caller=caller)

    def cancel(self, task_id: str, *, caller: str = "alice") -> Answer:
        return self.rpc("CancelTask", {"id": task_id}, caller=caller)

    def rpc(self, method: str, params: Any, *, caller: str = "alice", seconds: float = 60.0) -> Answer:
        """The result of a JSON-RPC call. Raises RpcError for an error in its place."""
        response = self.handler(rpc_event(method, params, headers_of(caller)), LambdaContext(seconds))
        body = json.loads(response["body"])
        if "error" in body:
            raise RpcError(body["error"])
        result: Answer = body["result"]
        return result

    def request(self, method: str, path: str, *, caller: str | None = None, **rest: Any) -> Answer:
        """The raw response to an HTTP request; without a caller, no token goes with it."""
        headers = {**(headers_of(caller) if caller else {}), **rest.pop("headers", {})}
        answer: Answer = self.handler(rest_event(method, path, headers=headers, **rest), LambdaContext(60))
        return answer

    def receive(self) -> list[Answer]:
        """The messages that are visible in the queue now."""
        queue = client("sqs")
        received: list[Answer] = []
        while batch := queue.receive_message(
            QueueUrl=self.resources.queue_url, MaxNumberOfMessages=10, AttributeNames=["All"]
        ).get("Messages"):
            received += batch
        return received

    def deliver(self, message: Answer, *, seconds: float = 900.0) -> Answer:
        """Gives one message to the handler, and deletes it if the handler took it, as Lambda would."""
        answer: Answer = self.handler(queue_event(message), LambdaContext(seconds))
        if not answer["batchItemFailures"]:
            client("sqs").delete_message(QueueUrl=self.resources.queue_url, ReceiptHandle=message["ReceiptHandle"])
        return answer

    def pump(self, *, seconds: float = 900.0, most: int = 50) -> int:
        """Plays all visible messages, and those that come of them; how many runs it took."""
        for count in range(most):
            messages = self.receive()
            if not messages:
                return count
            for message in messages:
                self.deliver(message, seconds=seconds)
        raise AssertionError(f"the queue was not empty after {most} rounds")

    def sweep(self, *, seconds: float = 60.0) -> Answer:
        """What the schedule does."""
        answer: Answer = self.handler({"agentfn": "sweep"}, LambdaContext(seconds))
        return answer

    def items(self) -> list[Answer]:
        """Everything in the table."""
        return list(client("dynamodb").scan(TableName=self.resources.table)["Items"])

    def _begin(self) -> None:
        from moto import mock_aws
        from moto.core.botocore_stubber import BotocoreStubber

        self._stack.enter_context(patch.dict(os.environ, AWS_DEFAULT_REGION=REGION, AWS_REGION=REGION))
        self._stack.enter_context(mock_aws())
        self._stack.enter_context(patch("boto3.DEFAULT_SESSION", _boto3_session()))
        self._stack.enter_context(patch.object(BotocoreStubber, "__call__", _one_at_a_time(BotocoreStubber.__call__)))
        client.cache_clear()
        self._stack.callback(client.cache_clear)
        self.resources: Resources = make_resources(f"stage-{uuid4().hex[:8]}", REGION, client)
        for service in SERVICES:
            client(service).meta.events.register("before-call", self._count)
        self.handler = self.new_process()
        self.calls.clear()

    def _count(self, model: Any, **_: Any) -> None:
        self.calls[model.name] += 1


class RpcError(Exception):
    """The agent answered with an error: `code` and `message` as JSON-RPC has them."""

    def __init__(self, error: Answer) -> None:
        super().__init__(f"{error['code']}: {error['message']}")
        self.code = error["code"]
        self.message = error["message"]


@functools.cache
def _boto3_session() -> Any:
    """One for all stages: a session reads the descriptions of the services from disk, which takes longer than the rest
    of a stage. It must be made after moto was imported, which answers in the place of AWS.
    """
    import boto3

    return boto3.Session()


def _one_at_a_time(answer: Callable[..., Any]) -> Callable[..., Any]:
    """moto is not made for threads: a transaction that fails would undo what another thread wrote meanwhile."""
    lock = threading.RLock()

    def locked(*arguments: Any, **named: Any) -> Any:
        with lock:
            return answer(*arguments, **named)

    return locked


def token_of(caller: str) -> str:
    return f"{caller}-0123456789abcdef"


def headers_of(caller: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token_of(caller)}"}


def _file_part(name: str, content: bytes | Path) -> Answer:
    raw = content.read_bytes() if isinstance(content, Path) else content
    media_type = mimetypes.guess_type(name)[0] or "application/octet-stream"
    return {"raw": base64.b64encode(raw).decode(), "filename": name, "mediaType": media_type}
