"""Crash injection: a process crashes before or after any AWS call, without changes to the library."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal

from agentfn.aws_clients import aws_client
from agentfn.local.lambda_events import LocalLambdaContext, queue_event, rpc_event
from agentfn.testing import Stage
from agentfn.testing.stage import auth_headers

SERVICES = ("dynamodb", "sqs", "s3")
CrashTiming = Literal["before", "after"]


class ProcessCrash(BaseException):
    """A crash: `except Exception` does not catch it, and cleanup code cannot reach AWS any more."""


@dataclass
class CrashInjector:
    """`calls` are the AWS operations of this process, `sent` the bodies of all messages sent to the queue.

    `crash_at` is the index of the call before or after which the process crashes; None disables the crash.
    """

    crash_at: int | None = None
    timing: CrashTiming = "before"
    crashed: bool = False
    calls: list[str] = field(default_factory=list)
    sent: list[str] = field(default_factory=list)

    def attach(self) -> None:
        """Observes the calls of the stage's clients from now on."""
        for service in SERVICES:
            events = aws_client(service).meta.events
            events.register("provide-client-params", self._before)
            events.register("after-call", self._after)

    def crash(self) -> None:
        self.crashed = True

    def restart(self, at: int | None = None, when: CrashTiming = "before") -> None:
        """Starts a new process, whose calls are counted from 0."""
        self.crashed, self.crash_at, self.timing, self.calls = False, at, when, []

    def _before(self, params: dict[str, Any], model: Any, **_: Any) -> None:
        place = len(self.calls)
        self.calls.append(model.name)
        self.crashed |= self.timing == "before" and place == self.crash_at
        if self.crashed:
            raise ProcessCrash
        if model.name == "SendMessage":
            self.sent.append(params["MessageBody"])

    def _after(self, **_: Any) -> None:
        self.crashed |= self.timing == "after" and len(self.calls) - 1 == self.crash_at
        if self.crashed:
            raise ProcessCrash


class CrashableStage:
    """A stage with crash injection. After a crash the next invocation gets a new process."""

    def __init__(self, stage: Stage) -> None:
        self.stage = stage
        self.injector = CrashInjector()
        self.injector.attach()
        self._process = stage.handler

    def invoke(
        self, event: dict[str, Any], *, at: int | None = None, when: CrashTiming = "before", seconds: float = 60
    ) -> Any:
        """The handler's answer, None if it crashed."""
        self.injector.restart(at, when)
        try:
            answer = self._process(event, LocalLambdaContext(seconds))
        except ProcessCrash:
            answer = None
        died, self.injector.crashed, self.injector.crash_at = self.injector.crashed, False, None
        if died:
            self._process = self.stage.new_environment()
        return None if died else answer  # the HTTP adapter answers 500 to everything, but nobody is there to send it

    def send_event(self, text: str, *, wait: bool, message_id: str = "m1", **headers: str) -> dict[str, Any]:
        """The event of a caller's message."""
        said = {"messageId": message_id, "role": "ROLE_USER", "parts": [{"text": text}]}
        params = {"message": said, "configuration": {"returnImmediately": not wait}}
        return rpc_event("SendMessage", params, {**auth_headers("alice"), **headers})

    def queue_event(self, body: str) -> dict[str, Any]:
        """The event of a queue message, independent of its delay."""
        return queue_event({"MessageId": "letter", "ReceiptHandle": "none", "Body": body})

    def reset(self) -> None:
        """Resets the stage."""
        self.purge_queue()
        self.injector.sent.clear()
        for item in self.stage.table_items():
            key = {"pk": item["pk"], "sk": item["sk"]}
            aws_client("dynamodb").delete_item(TableName=self.stage.resources.table, Key=key)

    def purge_queue(self) -> None:
        """Drops all messages, delayed ones included."""
        queue, url = aws_client("sqs"), self.stage.resources.queue_url
        queue.delete_queue(QueueUrl=url)
        queue.create_queue(QueueName=url.rsplit("/", 1)[-1])

    def task_items(self) -> list[dict[str, Any]]:
        return [item for item in self.stage.table_items() if item["sk"]["S"] == "head"]

    def only_task_id(self) -> str:
        [head] = self.task_items()
        return str(head["pk"]["S"].rsplit("#", 1)[-1])

    def only_task(self) -> dict[str, Any]:
        return self.stage.get(self.only_task_id())

    def expire_leases(self) -> None:
        """Expires every lease."""
        for head in self.task_items():
            if "lease_end" in head:
                aws_client("dynamodb").update_item(
                    TableName=self.stage.resources.table,
                    Key={"pk": head["pk"], "sk": head["sk"]},
                    UpdateExpression="SET lease_end = :past",
                    ExpressionAttributeValues={":past": {"N": "1000"}},
                )

    def run_until_done(self, redeliver: Callable[[], Any], most: int = 4) -> dict[str, Any]:
        """Delivers until the task is done or waits, and returns it."""
        for _ in range(most):
            self.expire_leases()
            redeliver()
            task = self.only_task()
            if task["status"]["state"] not in ("TASK_STATE_WORKING", "TASK_STATE_SUBMITTED"):
                return task
        raise AssertionError(f"the task is still open after {most} deliveries")
