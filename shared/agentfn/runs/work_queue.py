"""The agent's SQS queue: messages that ask for a run of a task, or for the delivery of its events to webhooks.

A message holds ids and nothing else. One that comes twice, late, or for a task that is done changes nothing.
"""

import asyncio
import contextlib
import json
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from agentfn.aws_errors import map_aws_errors
from agentfn.store import TaskRecord

if TYPE_CHECKING:
    from mypy_boto3_sqs import SQSClient

MAX_WRITE_LAG_SECONDS = 60.0  # a message may arrive that long before the write that it was sent for
PUSH_DELAY_SECONDS = 1.0  # for the write of the events that a push job is sent for
RECHECK_DELAY_SECONDS = 2.0  # until such a message comes again
MAX_DELAY_SECONDS = 900  # the limit of SQS
MAX_RECEIVED_COUNT = 10  # messages in one call: the limit of SQS
DEAD_LETTER_VISIBILITY_SECONDS = 20  # a dead letter is hidden that long, so that one sweep reads it once


@dataclass(frozen=True)
class QueueMessage:
    """Names a version of a task. It is sent before that version is written, so it may arrive first.

    `sent_at` is when it was first sent, in seconds since 1970. `message_id` and `receipt_handle` come from SQS.
    """

    owner: str
    task_id: str
    version: int
    sent_at: float
    message_id: str = field(default="", kw_only=True)
    receipt_handle: str = field(default="", kw_only=True)

    def is_recent(self, now: float) -> bool:
        """Whether the version that it names may still be written."""
        return now - self.sent_at < MAX_WRITE_LAG_SECONDS

    def to_json(self) -> dict[str, Any]:
        return {"owner": self.owner, "task": self.task_id, "version": self.version, "sent": self.sent_at}

    def body(self) -> str:
        return json.dumps(self.to_json())


@dataclass(frozen=True)
class Continuation(QueueMessage):
    """Asks for a run of the task."""


@dataclass(frozen=True)
class PushJob(QueueMessage):
    """Asks for the delivery of events up to that version, to the webhook `config_id` or, if it is empty, to all."""

    config_id: str = ""

    def to_json(self) -> dict[str, Any]:
        return {**super().to_json(), "push": self.config_id}


def parse_message(record: dict[str, Any]) -> Continuation | PushJob:
    """Reads a record of an SQS event. Raises ValueError, KeyError or TypeError for one that agentfn did not send.

    Source: https://docs.aws.amazon.com/lambda/latest/dg/with-sqs.html
    """
    body = json.loads(record["body"])
    about = body["owner"], body["task"], int(body["version"]), float(body["sent"])
    queued = {"message_id": record.get("messageId", ""), "receipt_handle": record.get("receiptHandle", "")}
    return PushJob(*about, body["push"], **queued) if "push" in body else Continuation(*about, **queued)


class WorkQueue:
    """Sends messages to the agent's queue. `client` gives the process's SQS client."""

    def __init__(self, client: "Callable[[], SQSClient]", url: str) -> None:
        self._client = client
        self._url = url

    async def send(self, message: QueueMessage, delay_seconds: float = 0.0) -> None:
        """Delays beyond the limit of SQS are shortened; the run then suspends the task again."""
        seconds = min(MAX_DELAY_SECONDS, max(0, math.ceil(delay_seconds)))
        with map_aws_errors():
            await asyncio.to_thread(
                lambda: self._client().send_message(
                    QueueUrl=self._url, MessageBody=message.body(), DelaySeconds=seconds
                )
            )

    async def enqueue_push(self, record: TaskRecord, now: float) -> None:
        """Asks for the delivery of the record's events, which are about to be written."""
        await self.send(PushJob(record.owner, record.task.id, record.version, now), PUSH_DELAY_SECONDS)

    async def set_visibility(self, receipt_handle: str, seconds: float) -> None:
        """Hides a received message for that long, rounded up to whole seconds.

        Rounded up, because a message that is delivered before its run's lease has ended must be sent anew.
        """
        with map_aws_errors():
            await asyncio.to_thread(
                lambda: self._client().change_message_visibility(
                    QueueUrl=self._url, ReceiptHandle=receipt_handle, VisibilityTimeout=math.ceil(seconds)
                )
            )


class DeadLetterQueue:
    """Reads messages that the queue failed to deliver. They stay in the dead-letter queue."""

    def __init__(self, client: "Callable[[], SQSClient]", url: str) -> None:
        self._client = client
        self._url = url

    async def read(self, max_count: int) -> list[Continuation]:
        """At most about `max_count` continuations. Push jobs and unreadable messages are left out."""
        found: list[Continuation] = []
        for _ in range(-(-max_count // MAX_RECEIVED_COUNT)):
            with map_aws_errors():
                messages = await asyncio.to_thread(self._receive)
            for message in messages:
                with contextlib.suppress(ValueError, KeyError, TypeError):
                    dead_letter = parse_message({"body": message["Body"]})
                    found += [dead_letter] if isinstance(dead_letter, Continuation) else []
            if not messages:
                break
        return found

    def _receive(self) -> list[Any]:
        response = self._client().receive_message(
            QueueUrl=self._url, MaxNumberOfMessages=MAX_RECEIVED_COUNT, VisibilityTimeout=DEAD_LETTER_VISIBILITY_SECONDS
        )
        return list(response.get("Messages", []))
