"""Queue delivery: passes messages to the fleet, and drops, duplicates, delays and reorders some of them."""

import contextlib
import random
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Self

from agentfn.testing import queue_event
from chaos.fault_plan import FaultPlan
from chaos.fleet import Fleet

FAULT_RATE = 0.45  # share of deliveries with a fault
MESSAGE_FAULTS = {"drop": 4, "double": 4, "hold back": 4, "": 88}  # in percent of messages
INVOCATION_TIMEOUTS = (6.0, 7.0, 9.0)  # that an invocation may take
SWEEP_INTERVAL_SECONDS = 4.0
POLL_SECONDS = 0.1


@dataclass
class QueueDelivery:
    """A context manager that delivers up to `max_concurrent` messages at a time and invokes the sweep periodically."""

    fleet: Fleet
    sqs: Any
    url: str
    fault_plan: FaultPlan
    max_concurrent: int
    _count: int = 0
    _stopped: threading.Event = field(default_factory=threading.Event)

    def __enter__(self) -> Self:
        self._free = threading.Semaphore(self.max_concurrent)
        self._pool = ThreadPoolExecutor(2 * self.max_concurrent + 2)
        self._threads = [threading.Thread(target=work, daemon=True) for work in (self._deliver, self._sweep)]
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._stopped.set()
        for thread in self._threads:
            thread.join()
        self._pool.shutdown(wait=True, cancel_futures=True)

    def _deliver(self) -> None:
        while not self._stopped.wait(POLL_SECONDS):
            messages = self._receive()
            self.fault_plan.random_for("order of", self._count).shuffle(messages)
            for message in messages:
                self._count += 1
                self._dispatch(message, self._count)

    def _receive(self) -> list[Any]:
        room = 0
        while room < 10 and self._free.acquire(blocking=False):
            room += 1
        if not room:
            return []
        answer = self.sqs.receive_message(QueueUrl=self.url, MaxNumberOfMessages=room, AttributeNames=["All"])
        messages = list(answer.get("Messages", []))
        for _ in range(room - len(messages)):
            self._free.release()
        return messages

    def _dispatch(self, message: Any, number: int) -> None:
        rng = self.fault_plan.random_for("mischief", number)
        message_fault = rng.choices(list(MESSAGE_FAULTS), list(MESSAGE_FAULTS.values()))[0]
        if message_fault:
            self.fleet.fault_counts.count(f"{message_fault} a message")
        if message_fault == "drop":
            self._delete(message)
            self._free.release()
            return
        if message_fault == "double":
            self._pool.submit(self._invoke, message, number, rng, "again")
        self._pool.submit(
            self._deliver_once, message, number, rng, rng.uniform(0.5, 4.0) * (message_fault == "hold back")
        )

    def _deliver_once(self, message: Any, number: int, rng: random.Random, pause: float) -> None:
        try:
            time.sleep(pause)
            self._invoke(message, number, rng, "")
        finally:
            self._free.release()

    def _invoke(self, message: Any, number: int, rng: random.Random, again: str) -> None:
        fault = self.fault_plan.fault_for(FAULT_RATE, "delivery", number, again)
        answer = self.fleet.invoke(queue_event(message), rng.choice(INVOCATION_TIMEOUTS), fault)
        if answer is not None and answer.get("batchItemFailures") == []:
            self._delete(message)

    def _delete(self, message: Any) -> None:
        with contextlib.suppress(self.sqs.exceptions.ClientError):  # the other delivery was faster
            self.sqs.delete_message(QueueUrl=self.url, ReceiptHandle=message["ReceiptHandle"])

    def _sweep(self) -> None:
        number = 0
        while not self._stopped.wait(SWEEP_INTERVAL_SECONDS):
            number += 1
            self.fleet.invoke({"agentfn": "sweep"}, 10.0, self.fault_plan.fault_for(0.3, "sweep", number))
