"""Requests for another run of a task, on the agent's queue.

A message holds ids and nothing else. It may come twice, late, or for a task that is done: each of these is a no-op.
"""

import asyncio
import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from mypy_boto3_sqs import SQSClient

LONGEST_DELAY = 900  # seconds; SQS takes no more


@dataclass(frozen=True)
class Continuation:
    """One received message. `age` is in seconds since it was sent."""

    owner: str
    task_id: str
    message_id: str = ""
    receipt: str = ""
    age: float = 0.0

    @classmethod
    def read(cls, record: dict[str, Any], now: float) -> Self:
        """From a record of an SQS event. Raises ValueError or KeyError for one that is none of ours.

        Source: https://docs.aws.amazon.com/lambda/latest/dg/with-sqs.html
        """
        body = json.loads(record["body"])
        sent = float(record.get("attributes", {}).get("SentTimestamp", now * 1000)) / 1000
        return cls(
            body["owner"], body["task"], record.get("messageId", ""), record.get("receiptHandle", ""), now - sent
        )


class Continuations:
    def __init__(self, client: "Callable[[], SQSClient]", url: str) -> None:
        self._client = client
        self._url = url

    async def send(self, owner: str, task_id: str, delay: float = 0.0) -> None:
        """`delay` is in seconds; longer ones than SQS can hold are cut, and the run that comes of it waits again."""
        body = json.dumps({"owner": owner, "task": task_id})
        seconds = min(LONGEST_DELAY, max(0, -int(-delay // 1)))
        await asyncio.to_thread(
            lambda: self._client().send_message(QueueUrl=self._url, MessageBody=body, DelaySeconds=seconds)
        )

    async def hide(self, receipt: str, seconds: float) -> None:
        """Until when a received message stays invisible: it comes back then, unless its run ends well before."""
        await asyncio.to_thread(
            lambda: self._client().change_message_visibility(
                QueueUrl=self._url, ReceiptHandle=receipt, VisibilityTimeout=int(seconds)
            )
        )
