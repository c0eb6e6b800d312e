"""One run: AWS, the fleet, queue delivery and callers, and then the report."""

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
from agentfn.local.aws_resources import AwsResources, create_resources
from agentfn.store.payload_codec import PayloadCodec
from chaos.event_log import event_log_path, read_event_log
from chaos.fault_plan import FaultPlan
from chaos.fleet import FaultCounter, Fleet
from chaos.queue_delivery import QueueDelivery
from chaos.report import ChaosReport
from chaos.scenarios import TOKEN, Scenario, ScenarioClient
from chaos.stored_tasks import read_tasks

REGION = "eu-central-1"
SERVICES: tuple[Any, ...] = ("dynamodb", "s3", "sqs")
PARALLEL_SCENARIOS = 64  # callers
ENVIRONMENTS = 20
RUNS = 15  # of these, for the queue
SKEW = 30.0  # maximum clock error in seconds
VISIBILITY_SECONDS = "12"  # seconds; longer than an invocation
SETTLE_SECONDS = 8.0  # for delayed messages after the last caller
SETTINGS = {
    "AGENTFN_LEASE_SECONDS": "5",
    "AGENTFN_RESERVE_SECONDS": "1",
    "AGENTFN_REQUEST_SECONDS": "6",
    "AGENTFN_MAX_IDLE_RUNS": "8",
    "AGENTFN_TOKENS": json.dumps({"alice": TOKEN}),
    "AGENT_MODEL": "scripted",
    "POWERTOOLS_LOG_LEVEL": "WARNING",
}


def run_chaos(
    tasks: int,
    faults: int,
    seed: int,
    *,
    folder: Path,
    skew: float = SKEW,
    tell: Callable[[str], None] = lambda _: None,
) -> ChaosReport:
    """Runs at least so many tasks and faults. The event log and the agent's log go into `folder`."""
    started, fault_plan, fault_counts = time.monotonic(), FaultPlan(seed, skew), FaultCounter()
    with ExitStack() as stack:
        resources = stack.enter_context(_aws_server(folder))
        dynamodb, s3, sqs = (stack.enter_context(closing(boto3.client(name))) for name in SERVICES)
        fleet = stack.enter_context(
            Fleet(ENVIRONMENTS, folder, fault_plan, fault_counts, _worker_environment(resources))
        )
        with QueueDelivery(fleet, sqs, resources.queue_url, fault_plan, RUNS):
            scenarios = _run_scenarios(fleet, fault_plan, tasks, faults, tell)
            time.sleep(SETTLE_SECONDS)
        payloads = PayloadCodec(Bucket(lambda: s3, resources.bucket, 60))
        stored = read_tasks(_scan_items(dynamodb, resources.table), read_event_log(folder), payloads)
    report = ChaosReport(seed, len(scenarios), fault_counts.by_name, fleet.process_count, fleet.skewed_count)
    report.check(scenarios, stored, folder)
    report.seconds = time.monotonic() - started
    return report


def _run_scenarios(
    fleet: Fleet, fault_plan: FaultPlan, tasks: int, faults: int, tell: Callable[[str], None]
) -> list[Scenario]:
    """Starts callers as others finish, until there were enough callers and enough faults."""
    done: list[Scenario] = []
    running: set[Future[Scenario]] = set()
    number, told, at_once = 0, time.monotonic(), min(PARALLEL_SCENARIOS, tasks)
    with ThreadPoolExecutor(at_once) as pool:
        while running or number < tasks or fleet.fault_counts.total < faults:
            while len(running) < at_once and (number < tasks or fleet.fault_counts.total < faults):
                running.add(pool.submit(ScenarioClient.for_number(fleet, fault_plan, number).run))
                number += 1
            ended, running = wait(running, timeout=5.0, return_when=FIRST_COMPLETED)
            done += [future.result() for future in ended]
            if time.monotonic() - told > 15:
                told = time.monotonic()
                tell(f"{len(done)} tasks, {fleet.fault_counts.total} faults")
    return done


def _scan_items(client: Any, table: str) -> Iterator[dict[str, Any]]:
    for page in client.get_paginator("scan").paginate(TableName=table):
        yield from page["Items"]


@contextmanager
def _aws_server(folder: Path) -> Iterator[AwsResources]:
    """The AWS process, in an environment in which boto3 finds only that."""
    command = [sys.executable, "-m", "chaos.aws_server", str(event_log_path(folder))]
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
            resources = create_resources("chaos", REGION)
            with closing(boto3.client("sqs")) as sqs:
                sqs.set_queue_attributes(
                    QueueUrl=resources.queue_url, Attributes={"VisibilityTimeout": VISIBILITY_SECONDS}
                )
            yield resources


def _worker_environment(resources: AwsResources) -> dict[str, str]:
    """A worker's environment variables, with short times so that dead runs are found soon."""
    return {**os.environ, **resources.environment(), **SETTINGS}
