"""Execution environments as processes, forked from one that has imported everything.

python -m chaos.worker SOCKET EVENT_LOG, then a line "number skew" on standard input for each process to start.
"""

import os
import signal
import sys
import threading
import time
from functools import partial
from multiprocessing.connection import Client, Connection
from pathlib import Path
from typing import Any

from agentfn.a2a import send_message
from agentfn.aws_clients import aws_client
from agentfn.bootstrap import event_source_factory, serve, storage_factory
from agentfn.runs import runner, sweep, work_queue
from agentfn.settings import Settings
from agentfn.store import DynamoTaskStore, TaskRecord
from agentfn.testing import LocalLambdaContext
from chaos.event_log import EventLog
from chaos.fault_injection import FaultInjector
from chaos.sample_agent import CURRENT_RUN, make_agent

SERVICES = ("dynamodb", "s3", "sqs")


def shorten_timings() -> None:
    """Shortens the library's times, because a run lasts minutes. Settings are shortened by `_worker_environment`."""
    sweep.ABANDONED_AFTER_SECONDS = 5.0
    sweep.RECHECK_AFTER_SECONDS = 20.0
    send_message.SAFETY_MARGIN_SECONDS = 1.0
    work_queue.MAX_WRITE_LAG_SECONDS = 20.0
    runner.WATCH_INTERVAL_SECONDS = 1.0


class TracingRunner(runner.Runner):
    """Tells model and tools which run they work for."""

    async def run(self, record: TaskRecord, *arguments: Any, **named: Any) -> TaskRecord:
        CURRENT_RUN.set((record.task.id, record.run))
        return await super().run(record, *arguments, **named)


def run_environment(number: int, skew: float, address: str, event_log_path: Path) -> None:
    """Runs one environment: handles invocations from the parent, one at a time, until the connection closes."""
    parent = Client(address, "AF_UNIX")
    parent.send(os.getpid())
    lock = threading.Lock()

    def tell(what: str, answer: Any = None, injected: bool = False) -> None:
        with lock:
            parent.send((what, answer, injected))

    injector = FaultInjector(tell)
    vars(storage_factory)["DynamoTaskStore"] = partial(DynamoTaskStore, clock=lambda: time.time() + skew)
    vars(event_source_factory)["Runner"] = TracingRunner
    handler = serve(make_agent(EventLog(event_log_path), injector), Settings.load(os.environ))
    for service in SERVICES:
        injector.attach(aws_client(service))
    tell("ready")
    while True:
        event, seconds, fault = _next_invocation(parent)
        injector.begin(fault)
        try:
            answer = handler(event, LocalLambdaContext(seconds))
        except Exception as error:  # noqa: BLE001 - as Lambda does
            answer = {"errorMessage": repr(error)}
        tell("answer", answer, injector.injected)


def _next_invocation(parent: "Connection[Any, Any]") -> Any:
    try:
        return parent.recv()
    except EOFError:
        os._exit(0)


def main(place: str, event_log: str) -> None:
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # dead children are not waited for
    shorten_timings()
    for service in SERVICES:
        aws_client(service)  # created once, not connected yet: each process has a copy
    for line in sys.stdin:
        number, skew = line.split()
        if os.fork() == 0:
            run_environment(int(number), float(skew), place, Path(event_log))


if __name__ == "__main__":
    main(*sys.argv[1:])
