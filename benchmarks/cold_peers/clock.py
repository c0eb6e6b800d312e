"""Starts one contender in this process, hands it one event of API Gateway, and prints what that took as JSON.

    python -P benchmarks/cold_peers/clock.py floor '<the event, as JSON>'

A driver beside this file makes all of it when it is imported, as a Lambda function does: `handler(event, context)`, or
for a framework without A2A `ask()`, which asks its model once. `remember(task_id)` puts a task where a driver's store
is in memory. `-P`, as a driver bears its framework's name and would be imported in its place.

`COLD_STARTED` is the monotonic clock just before this process was made. Nothing is imported here that costs anything.
"""

import importlib.util
import json
import os
import sys
import time
from pathlib import Path
from types import ModuleType
from typing import Any

STORED = "11111111-2222-4333-8444-555555555555"  # the task that is asked for where none was stored before


class Context:
    """Lambda's, in a function of 1,024 MB that has 15 minutes."""

    function_name = "agent"
    memory_limit_in_mb = 1024
    invoked_function_arn = "arn:aws:lambda:eu-central-1:123456789012:function:agent"
    aws_request_id = "00000000-0000-4000-8000-000000000000"

    def get_remaining_time_in_millis(self) -> int:
        return 900_000


def spent() -> dict[str, float]:
    """Seconds on the clock and of the CPU, threads included, and the most memory in MB, since the process began.

    Not `ru_maxrss`: Linux has that begin with what the parent had.
    """
    wall, cpu = time.monotonic() - float(os.environ["COLD_STARTED"]), time.process_time()
    [line] = [line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM")]
    return {"wall": wall, "cpu": cpu, "peak": int(line.split()[1]) / 1024}


def driver(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"driver_{name}", Path(__file__).with_name(f"{name}.py"))
    if spec is None or spec.loader is None:
        raise SystemExit(f"{name} has no driver beside {__file__}")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def answered(contender: Any, event: dict[str, Any]) -> str:
    """What came of the event: a body, or the text of a model's answer."""
    if not hasattr(contender, "handler"):
        return str(contender.ask())
    if STORED in (event.get("body") or "") and hasattr(contender, "remember"):
        contender.remember(STORED)
    answer = contender.handler(event, Context())
    if answer["statusCode"] != 200:
        raise SystemExit(f"status {answer['statusCode']}: {answer['body']}")
    return str(answer["body"])


def main() -> None:
    name, event = sys.argv[1], json.loads(sys.argv[2])
    sys.path.append(str(Path(__file__).parent))  # last: a driver's own name means its framework
    contender = driver(name)
    made = spent()
    answer = answered(contender, event) if event else ""
    print(json.dumps({"made": made, "done": spent(), "answer": answer}), flush=True)
    os._exit(0)  # what is left behind is of no interest


if __name__ == "__main__":
    main()
