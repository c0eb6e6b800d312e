"""What a cold start takes beside other frameworks: until the card, a stored task, and the first question to a model.

    python benchmarks/cold.py [--rounds 7] [driver ...]

Each contender runs in processes of its own, from a virtual environment of its own: `.venv-bench/cold-<place>` with the
exact versions of `benchmarks/cold_peers/<place>.txt`, made and compiled to bytecode at the first run. They take turns,
so that what else the machine does meets all of them. The first round is not counted. See docs/performance.md.
"""

import argparse
import json
import os
import platform
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from uuid import uuid4

from cold_contenders import CONTENDERS, Contender, environment, python_of
from cold_model import SAID, StubModel
from cold_table import Spent, print_tables

from agentfn.aws_clients import aws_client
from agentfn.local.embedded_aws import REGION, EmbeddedAws
from agentfn.local.lambda_events import rest_event

CLOCK = Path(__file__).parent / "cold_peers" / "clock.py"
STORED = "11111111-2222-4333-8444-555555555555"  # the floor's task, and the id of those in memory
METHODS = {"1.0": ("GetTask", "SendMessage", "SendStreamingMessage"), "0.3": ("tasks/get", "message/send", "")}


def event(contender: Contender, case: str, task: str) -> dict[str, Any]:
    """What API Gateway hands over, in the protocol that the contender speaks."""
    if case == "made" or not contender.protocol:
        return {}
    if case == "card":
        return rest_event("GET", "/.well-known/agent-card.json")
    getting, sending, streaming = METHODS[contender.protocol]
    new = contender.protocol == "1.0"
    part = {"text": "Look!"} if new else {"kind": "text", "text": "Look!"}
    message = {"messageId": str(uuid4()), "role": "ROLE_USER" if new else "user", "parts": [part]}
    params = {"id": task} if case == "get" else {"message": message if new else {**message, "kind": "message"}}
    method = getting if case == "get" else streaming if contender.streams else sending
    call = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    headers = {"Content-Type": "application/json", **({"A2A-Version": "1.0"} if new else {})}
    return rest_event("POST", "/", json.dumps(call), headers)


def started(contender: Contender, case: str, task: str, aws: Mapping[str, str], model: StubModel) -> dict[str, Any]:
    """What one process of the contender measured. Raises SystemExit where it did not do what was asked of it."""
    asked = json.dumps({"ask": True} if case == "question" and not contender.protocol else event(contender, case, task))
    command = [str(python_of(contender.place)), "-P", str(CLOCK), contender.driver, asked]
    variables = environment(contender, aws, model.address)
    began = time.monotonic()
    process = subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,  # some warn a lot
        text=True,
        env=variables | {"COLD_STARTED": str(began)},
    )
    model.watch(process.pid, began)
    said, complained = process.communicate(timeout=120)
    if process.returncode:
        raise SystemExit(f"{contender.name}, {case}: it ended with {process.returncode}\n{complained}")
    told: dict[str, Any] = json.loads(said.splitlines()[-1])
    expected = {"card": "bench", "get": task, "question": SAID, "made": ""}[case]
    if expected not in told["answer"] and contender.driver != "analyst":
        raise SystemExit(f"{contender.name}, {case}: {expected!r} is not in its answer: {told['answer']}")
    return told | {"question": model.asked}


def task_of(contender: Contender, aws: Mapping[str, str], model: StubModel) -> str:
    """A task that is there to be asked for."""
    if not contender.stored or not contender.asks:
        return STORED
    answer = json.loads(started(contender, "question", "", aws, model)["answer"])
    return str(answer["result"]["task"]["id"])


def measured(taking_part: list[Contender], rounds: int) -> dict[tuple[str, str], list[Spent]]:
    """All rounds but the first of each contender and case."""
    spent: dict[tuple[str, str], list[Spent]] = defaultdict(list)
    with EmbeddedAws("cold") as embedded, StubModel() as model:
        aws = embedded.resources.environment() | {
            "AWS_ENDPOINT_URL": embedded.url,
            "AWS_ACCESS_KEY_ID": "cold",
            "AWS_SECRET_ACCESS_KEY": "cold",
            "AWS_DEFAULT_REGION": REGION,
            "AWS_REGION": REGION,
        }
        keep_one_for_the_floor(embedded.resources.table)
        tasks = {contender.name: task_of(contender, aws, model) for contender in taking_part}
        for round_ in range(rounds + 1):
            print(f"round {round_} of {rounds}, load {os.getloadavg()[0]:.1f}", file=sys.stderr)
            for case in ("card", "get", "made", "question"):
                for contender in [contender for contender in taking_part if case in contender.cases]:
                    told = started(contender, case, tasks[contender.name], aws, model)
                    if round_:
                        spent[contender.name, case].append(told["question"] if case == "question" else told["done"])
                        if case == "card":
                            spent[contender.name, "made"].append(told["made"])
    return spent


def keep_one_for_the_floor(table: str) -> None:
    task = {"id": STORED, "contextId": "context", "status": {"state": "TASK_STATE_COMPLETED"}}
    item = {"pk": {"S": STORED}, "sk": {"S": "task"}, "task": {"S": json.dumps(task)}}
    aws_client("dynamodb").put_item(TableName=table, Item=item)


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure cold starts beside other frameworks.")
    parser.add_argument("drivers", nargs="*", help="of benchmarks/cold_peers/; all of them by themselves")
    parser.add_argument("--rounds", type=int, default=7)
    asked = parser.parse_args()
    taking_part = [one for one in CONTENDERS if not asked.drivers or one.driver in asked.drivers]
    for contender in taking_part:
        python_of(contender.place)  # what is installed later would be in the first figures
    load = os.getloadavg()[0]
    print_tables(taking_part, measured(taking_part, asked.rounds))
    print(f"\nMedians of {asked.rounds}. Python {platform.python_version()}, {os.cpu_count()} CPUs, ", end="")
    print(f"{platform.system()} {platform.machine()}, load {load:.1f} before and {os.getloadavg()[0]:.1f} after")


if __name__ == "__main__":
    main()
