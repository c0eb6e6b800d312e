"""Polls the queue and calls the handler with its messages, as Lambda's event source does."""

import contextlib
import threading
from concurrent.futures import Future
from functools import partial
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from botocore.exceptions import BotoCoreError, ClientError

from agentfn.local.execution_environments import ExecutionEnvironments
from agentfn.local.lambda_events import queue_event
from agentfn.telemetry import logger

if TYPE_CHECKING:
    from mypy_boto3_sqs import SQSClient

POLL_SECONDS = 1  # a delayed message is received at most this late
WAKE_UP_BODY = "stop"


class QueuePoller:
    """A context manager that polls in a thread. Each message is one invocation, at most `max_concurrency` at a time."""

    def __init__(
        self, client: "SQSClient", url: str, environments: ExecutionEnvironments, *, max_concurrency: int
    ) -> None:
        self._client = client
        self._url = url
        self._environments = environments
        self._free_slots = threading.Semaphore(max_concurrency)
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._poll, name="queue-pump", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Stops polling. Running invocations are left to the environments."""
        self._stopped.set()
        self._client.send_message(QueueUrl=self._url, MessageBody=WAKE_UP_BODY)  # ends the poll
        self._free_slots.release()
        self._thread.join()

    def _poll(self) -> None:
        while True:
            self._free_slots.acquire()
            message = None if self._stopped.is_set() else self._receive()
            if self._stopped.is_set():
                return
            if message is None:
                self._free_slots.release()
                continue
            self._environments.invoke(queue_event(message)).add_done_callback(partial(self._complete, message))

    def _receive(self) -> Any:
        try:
            answer = self._client.receive_message(
                QueueUrl=self._url,
                MaxNumberOfMessages=1,
                WaitTimeSeconds=POLL_SECONDS,
                MessageSystemAttributeNames=["All"],
            )
        except (BotoCoreError, ClientError):
            logger.exception("the queue could not be read")
            self._stopped.wait(POLL_SECONDS)
            return None
        return next(iter(answer.get("Messages", [])), None)

    def _complete(self, message: Any, done: Future[Any]) -> None:
        """Deletes the message if its invocation succeeded; else the queue delivers it again."""
        self._free_slots.release()
        if done.cancelled():
            return
        if error := done.exception():
            if not self._stopped.is_set():
                logger.error("an invocation failed: %r", error)
            return
        if not done.result()["batchItemFailures"]:
            with contextlib.suppress(BotoCoreError, ClientError):
                self._client.delete_message(QueueUrl=self._url, ReceiptHandle=message["ReceiptHandle"])
