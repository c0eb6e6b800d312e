"""Requests for another run of a task, on the agent's queue.

A message holds ids and nothing else. It may come twice, late, or for a task that is done: each of these is a no-op.
"""

import asyncio
import contextlib
import json
import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mypy_boto3_sqs import SQSClient

MAX_WRITE_LAG_SECONDS = 60.0  # seconds; the write that a message this young was sent for may still come
RECHECK_DELAY_SECONDS = 2.0  # seconds until such a message comes again
MAX_DELAY_SECONDS = 900  # seconds; SQS takes no more
MAX_RECEIVED_COUNT = 10  # messages in one call
DEAD_LETTER_VISIBILITY_SECONDS = 20  # seconds that a dead letter is hidden, so that one reading does not see it twice


@dataclass(frozen=True)
class QueueMessage:
    """About a task that has at least that version: a message may be faster than the write it is for.

    `sent` is when it was first asked for, in seconds since 1970. `message_id` and `receipt` are the queue's own.
    """

    owner: str
    task_id: str
    version: int
    sent_at: float
    message_id: str = field(default="", kw_only=True)
    receipt_handle: str = field(default="", kw_only=True)

    def is_recent(self, now: float) -> bool:
        """Whether the write that it was sent for may still come."""
        return now - self.sent_at < MAX_WRITE_LAG_SECONDS

    def to_json(self) -> dict[str, Any]:
        return {"owner": self.owner, "task": self.task_id, "version": self.version, "sent": self.sent_at}

    def body(self) -> str:
        return json.dumps(self.to_json())


@dataclass(frozen=True)
class Continuation(QueueMessage):
    """A request for a run of the task."""


@dataclass(frozen=True)
class PushJob(QueueMessage):
    """That events up to that version are to be delivered, to one subscriber or to all of them."""

    config_id: str = ""

    def to_json(self) -> dict[str, Any]:
        return {**super().to_json(), "push": self.config_id}


def parse_message(record: dict[str, Any]) -> Continuation | PushJob:
    """From a record of an SQS event. Raises ValueError, KeyError or TypeError for one that is none of ours.

    Source: https://docs.aws.amazon.com/lambda/latest/dg/with-sqs.html
    """
    body = json.loads(record["body"])
    about = body["owner"], body["task"], int(body["version"]), float(body["sent"])
    queued = {"message_id": record.get("messageId", ""), "receipt_handle": record.get("receiptHandle", "")}
    return PushJob(*about, body["push"], **queued) if "push" in body else Continuation(*about, **queued)


class WorkQueue:
    def __init__(self, client: "Callable[[], SQSClient]", url: str) -> None:
        self._client = client
        self._url = url

    async def send(self, message: QueueMessage, delay_seconds: float = 0.0) -> None:
        """`delay` is in seconds; longer ones than SQS can hold are cut, and the run that comes of it waits again."""
        seconds = min(MAX_DELAY_SECONDS, max(0, math.ceil(delay_seconds)))
        await asyncio.to_thread(
            lambda: self._client().send_message(QueueUrl=self._url, MessageBody=message.body(), DelaySeconds=seconds)
        )

    async def set_visibility(self, receipt_handle: str, seconds: float) -> None:
        """Until when a received message stays invisible: it comes back then, unless its run ends well before.

        Rounded up: one that came back before the lease of its run ended would have to wait for it as a new message.
        """
        await asyncio.to_thread(
            lambda: self._client().change_message_visibility(
                QueueUrl=self._url, ReceiptHandle=receipt_handle, VisibilityTimeout=math.ceil(seconds)
            )
        )


class DeadLetterQueue:
    """Messages that the queue gave up on. They are read and left where they are."""

    def __init__(self, client: "Callable[[], SQSClient]", url: str) -> None:
        self._client = client
        self._url = url

    async def read(self, max_count: int) -> list[Continuation]:
        """Up to so many; those that are no continuations are left out."""
        found: list[Continuation] = []
        for _ in range(-(-max_count // MAX_RECEIVED_COUNT)):
            messages = await asyncio.to_thread(self._receive)
            for message in messages:
                with contextlib.suppress(ValueError, KeyError, TypeError):
                    letter = parse_message({"body": message["Body"]})
                    found += [letter] if isinstance(letter, Continuation) else []  # a webhook's end is no task's
            if not messages:
                break
        return found

    def _receive(self) -> list[Any]:
        answer = self._client().receive_message(
            QueueUrl=self._url, MaxNumberOfMessages=MAX_RECEIVED_COUNT, VisibilityTimeout=DEAD_LETTER_VISIBILITY_SECONDS
        )
        return list(answer.get("Messages", []))
