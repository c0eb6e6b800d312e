"""Requests for another run of a task, on the agent's queue.

A message holds ids and nothing else. It may come twice, late, or for a task that is done: each of these is a no-op.
"""

import asyncio
import contextlib
import json
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from mypy_boto3_sqs import SQSClient

LONGEST_DELAY = 900  # seconds; SQS takes no more
LONGEST_BATCH = 10  # messages in one call
LOOKED_AT = 20  # seconds that a dead letter is hidden, so that one reading does not see it twice


@dataclass(frozen=True)
class Continuation:
    """A request for a run of a task that has at least that version: a message may be faster than the write it is for.

    `sent` is when it was first asked for, in seconds since 1970. `message_id` and `receipt` are the queue's own.
    """

    owner: str
    task_id: str
    version: int
    sent: float
    message_id: str = ""
    receipt: str = ""

    @classmethod
    def read(cls, record: dict[str, Any]) -> Self:
        """From a record of an SQS event. Raises ValueError, KeyError or TypeError for one that is none of ours.

        Source: https://docs.aws.amazon.com/lambda/latest/dg/with-sqs.html
        """
        body = json.loads(record["body"])
        return cls(
            owner=body["owner"],
            task_id=body["task"],
            version=int(body["version"]),
            sent=float(body["sent"]),
            message_id=record.get("messageId", ""),
            receipt=record.get("receiptHandle", ""),
        )

    def body(self) -> str:
        return json.dumps({"owner": self.owner, "task": self.task_id, "version": self.version, "sent": self.sent})


@dataclass(frozen=True)
class Announcement:
    """That events up to that version of a task are to be delivered, to one subscriber or to all of them.

    As with a continuation, it may be faster than the write it is for.
    """

    owner: str
    task_id: str
    version: int
    sent: float
    config_id: str = ""
    message_id: str = ""
    receipt: str = ""

    @classmethod
    def read(cls, record: dict[str, Any]) -> Self | None:
        """From a record of an SQS event; None for one that is a continuation. Raises as `Continuation.read` does."""
        body = json.loads(record["body"])
        if "push" not in body:
            return None
        return cls(
            owner=body["owner"],
            task_id=body["task"],
            version=int(body["version"]),
            sent=float(body["sent"]),
            config_id=body["push"],
            message_id=record.get("messageId", ""),
            receipt=record.get("receiptHandle", ""),
        )

    def body(self) -> str:
        shape = {"owner": self.owner, "task": self.task_id, "version": self.version, "sent": self.sent}
        return json.dumps({**shape, "push": self.config_id})


class Continuations:
    def __init__(self, client: "Callable[[], SQSClient]", url: str) -> None:
        self._client = client
        self._url = url

    async def send(self, message: Continuation | Announcement, delay: float = 0.0) -> None:
        """`delay` is in seconds; longer ones than SQS can hold are cut, and the run that comes of it waits again."""
        seconds = min(LONGEST_DELAY, max(0, math.ceil(delay)))
        await asyncio.to_thread(
            lambda: self._client().send_message(QueueUrl=self._url, MessageBody=message.body(), DelaySeconds=seconds)
        )

    async def hide(self, receipt: str, seconds: float) -> None:
        """Until when a received message stays invisible: it comes back then, unless its run ends well before.

        Rounded up: one that came back before the lease of its run ended would have to wait for it as a new message.
        """
        await asyncio.to_thread(
            lambda: self._client().change_message_visibility(
                QueueUrl=self._url, ReceiptHandle=receipt, VisibilityTimeout=math.ceil(seconds)
            )
        )


class DeadLetters:
    """Messages that the queue gave up on. They are read and left where they are."""

    def __init__(self, client: "Callable[[], SQSClient]", url: str) -> None:
        self._client = client
        self._url = url

    async def read(self, most: int) -> list[Continuation]:
        """Up to so many; those that are no continuations are left out."""
        found: list[Continuation] = []
        for _ in range(-(-most // LONGEST_BATCH)):
            messages = await asyncio.to_thread(self._receive)
            for message in messages:
                with contextlib.suppress(ValueError, KeyError, TypeError):
                    found.append(Continuation.read({"body": message["Body"]}))
            if not messages:
                break
        return found

    def _receive(self) -> list[Any]:
        answer = self._client().receive_message(
            QueueUrl=self._url, MaxNumberOfMessages=LONGEST_BATCH, VisibilityTimeout=LOOKED_AT
        )
        return list(answer.get("Messages", []))
