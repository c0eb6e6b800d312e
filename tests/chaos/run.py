"""One run: AWS, the fleet, the queue's side and the callers, and then the reckoning."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

import boto3

from agentfn.files import Bucket
from agentfn.local.aws_resources import Resources, make_resources
from agentfn.store.payload_codec import Payloads
from chaos.event_log import diary_of, read_diary
from chaos.fault_plan import Dice
from chaos.fleet import Fleet, Struck
from chaos.queue_delivery import Deliveries
from chaos.report import Outcome
from chaos.scenarios import TOKEN, Caller, Errand
from chaos.stored_tasks import read_tasks

REGION = "eu-central-1"
SERVICES: tuple[Any, ...] = ("dynamodb", "s3", "sqs")
AT_ONCE = 64  # callers
ENVIRONMENTS = 20
RUNS = 15  # environments of these that the queue may have
SKEW = 30.0  # seconds that clocks may be wrong
VISIBILITY = "12"  # seconds; as long as an invocation may take, and more
CALMING = 8.0  # seconds after the last caller has gone, for what still wakes up
SETTINGS = {
    "AGENTFN_LEASE_SECONDS": "5",
    "AGENTFN_RESERVE_SECONDS": "1",
    "AGENTFN_REQUEST_SECONDS": "6",
    "AGENTFN_MAX_IDLE_RUNS": "8",
    "AGENTFN_TOKENS": json.dumps({"alice": TOKEN}),
    "AGENT_MODEL": "scripted",
    "POWERTOOLS_LOG_LEVEL": "WARNING",
}


def play(
    tasks: int,
    faults: int,
    seed: int,
    *,
    folder: Path,
    skew: float = SKEW,
    tell: Callable[[str], None] = lambda _: None,
) -> Outcome:
    """At least so many tasks and so many faults. The diary and the log go into the folder."""
    started, dice, struck = time.monotonic(), Dice(seed, skew), Struck()
    with ExitStack() as stack:
        resources = stack.enter_context(_aws(folder))
        dynamodb, s3, sqs = (stack.enter_context(closing(boto3.client(name))) for name in SERVICES)
        fleet = stack.enter_context(Fleet(ENVIRONMENTS, folder, dice, struck, _surroundings(resources)))
        with Deliveries(fleet, sqs, resources.queue_url, dice, RUNS):
            errands = _errands(fleet, dice, tasks, faults, tell)
            time.sleep(CALMING)
        payloads = Payloads(Bucket(lambda: s3, resources.bucket, 60))
        stored = read_tasks(_items(dynamodb, resources.table), read_diary(folder), payloads)
    outcome = Outcome(seed, len(errands), struck.by_name, fleet.made, fleet.skewed)
    outcome.judge(errands, stored, folder)
    outcome.seconds = time.monotonic() - started
    return outcome


def _errands(fleet: Fleet, dice: Dice, tasks: int, faults: int, tell: Callable[[str], None]) -> list[Errand]:
    """New callers come as others go, until there were enough of them and enough has befallen."""
    done: list[Errand] = []
    running: set[Future[Errand]] = set()
    number, told, at_once = 0, time.monotonic(), min(AT_ONCE, tasks)
    with ThreadPoolExecutor(at_once) as pool:
        while running or number < tasks or fleet.struck.total < faults:
            while len(running) < at_once and (number < tasks or fleet.struck.total < faults):
                running.add(pool.submit(Caller.of(fleet, dice, number).play))
                number += 1
            ended, running = wait(running, timeout=5.0, return_when=FIRST_COMPLETED)
            done += [future.result() for future in ended]
            if time.monotonic() - told > 15:
                told = time.monotonic()
                tell(f"{len(done)} tasks, {fleet.struck.total} faults")
    return done


def _items(client: Any, table: str) -> Iterator[dict[str, Any]]:
    for page in client.get_paginator("scan").paginate(TableName=table):
        yield from page["Items"]


@contextmanager
def _aws(folder: Path) -> Iterator[Resources]:
    """Its process, and an environment in which boto3 finds it and nothing else."""
    command = [sys.executable, "-m", "chaos.aws", str(diary_of(folder))]
    path = os.pathsep.join([str(Path(__file__).parents[1]), *sys.path])
    own = {name: text for name, text in os.environ.items() if not name.startswith(("AWS_", "AGENT"))}
    pipes: Any = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "env": {**own, "PYTHONPATH": path}}
    with (folder / "aws").open("wb") as log, subprocess.Popen(command, **pipes, stderr=log, text=True) as server:
        assert server.stdout is not None
        ours = {
            "AWS_ENDPOINT_URL": server.stdout.readline().strip(),
            "AWS_ACCESS_KEY_ID": "chaos",
            "AWS_SECRET_ACCESS_KEY": "chaos",
            "AWS_DEFAULT_REGION": REGION,
            "AWS_CONFIG_FILE": os.devnull,
            "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
            "NO_PROXY": "127.0.0.1",
            "no_proxy": "127.0.0.1",
            "PYTHONPATH": path,
        }
        with patch.dict(os.environ, own | ours, clear=True), patch.object(boto3, "DEFAULT_SESSION", None):
            resources = make_resources("chaos", REGION)
            with closing(boto3.client("sqs")) as sqs:
                sqs.set_queue_attributes(QueueUrl=resources.queue_url, Attributes={"VisibilityTimeout": VISIBILITY})
            yield resources


def _surroundings(resources: Resources) -> dict[str, str]:
    """A worker's environment: short times, so that what dies is found soon."""
    return {**os.environ, **resources.environment(), **SETTINGS}
