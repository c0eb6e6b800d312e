"""What a task costs at AWS: calls, units and bytes for each step, and dollars for a thousand tasks.

    python benchmarks/costs.py [steps ...]

A step is one turn of the model that calls one tool, and its result; a task is sent without waiting and runs in the
queue's door. Each row is counted twice in the same run: as agentfn writes it, and as one writes it who keeps the whole
task in one item, once a step.
"""

import json
import sys
from collections import Counter
from dataclasses import dataclass
from typing import Any

import costs_prices as price
from botocore.exceptions import ClientError
from costs_meter import Meter, size_of, units

from agentfn import Agent, tool
from agentfn.aws_clients import aws_client
from agentfn.models import ModelRequest, ModelResponse, Turn
from agentfn.telemetry import logger
from agentfn.testing import Stage, calls
from agentfn.testing.scripted_model import ScriptedModel

SAID, RESULT = 200, 600  # characters of the model's words and of a tool's result, in each step
SECONDS, MEMORY = 3.0, 1.0  # of a step, most of it waiting for the model; GB of the function
MONTHS = 1.0  # a task is kept for 30 days
POLLED = 2  # calls that Lambda makes for each message: it receives it and deletes it


@tool(idempotent=True)
def look(at: int) -> str:
    """Looks at something."""
    return f"{at:06d} ".ljust(RESULT, "x")


@dataclass(frozen=True)
class Count:
    """One task. `whole` is the write units, and `whole_written` the bytes, of the one who writes the whole task, up to
    step `fits`: beyond it the task is too large for an item.
    """

    steps: int
    calls: Counter[str]
    table: int
    index: int
    read: int
    written: int
    kept: int
    turns: int
    whole: int
    whole_written: int
    fits: int

    @property
    def queue(self) -> int:
        sent = self.calls["SendMessage"]
        return sent * (1 + POLLED) + self.calls["ChangeMessageVisibility"]


def answer(prompt: ModelRequest, steps: int) -> Any:
    taken = sum(turn.role == "assistant" for turn in prompt.turns)
    if taken >= steps:
        return "Done."
    return ModelResponse("I look.".ljust(SAID, "."), tool_calls=(calls("look", at=taken),), finish_reason="tool_calls")


def play(steps: int) -> Count:
    model = ScriptedModel.from_function(lambda prompt: answer(prompt, steps))
    agent = Agent(name="bench", description="Takes steps.", tools=[look])
    with Stage(agent, model, max_steps=steps + 1, max_repeats=100) as stage:
        meter = Meter(aws_client("dynamodb"))
        task = stage.send("Go!", wait=False)
        for message in stage.receive_messages():
            stage.deliver_message(message)
        counted = Counter({name: number for name, number in stage.aws_calls.items() if name != "ReceiveMessage"})
        del counted["DeleteMessage"]  # the stage plays Lambda's part
        state = stage.get(task["id"])["status"]["state"]
        if state != "TASK_STATE_COMPLETED":
            raise SystemExit(f"the task of {steps} steps ended as {state}")
        turns = model.requests[-1].turns
        metered = (meter.table, meter.index, meter.read, meter.written, meter.kept)
        size = sum(len(json.dumps(turn.to_json())) for turn in turns)
        return Count(steps, counted, *metered, size, *whole_task(stage, turns))


def whole_task(stage: Stage, turns: tuple[Turn, ...]) -> tuple[int, int, int]:
    """Write units and bytes of one plain put of all turns so far, after each step; and the last step that fitted."""
    spent, written, saved = 0, 0, [turn.to_json() for turn in turns]
    for end in range(3, len(turns) + 1, 2):
        item = {"pk": {"S": "whole"}, "sk": {"S": "task"}, "task": {"S": json.dumps(saved[:end])}}
        try:
            aws_client("dynamodb").put_item(TableName=stage.resources.table, Item=item)
        except ClientError:  # over 400 KB
            return spent, written, (end - 3) // 2
        spent, written = spent + units(size_of(item)), written + size_of(item)
    return spent, written, (len(turns) - 1) // 2


def dollars(count: Count) -> dict[str, float]:
    """For one task, by what it is paid for."""
    written = count.table + count.index
    operations = 1 + 2 * count.steps  # the start; each model turn and each tool is a step
    return {
        "table": written * price.WRITE_UNIT + count.read * price.READ_UNIT,
        "storage": count.kept / price.GB * price.TABLE_GB_MONTH * MONTHS,
        "queue": count.queue * price.QUEUE_CALL,
        "whole": count.whole * price.WRITE_UNIT,
        "durable operations": operations * price.DURABLE_OPERATION,
        "durable data": count.turns / price.GB * (price.DURABLE_GB_WRITTEN + price.DURABLE_GB_MONTH * MONTHS),
        "invocations": 2 * price.INVOCATION,
        "compute": count.steps * SECONDS * MEMORY * price.GB_SECOND,
    }


def units_row(count: Count) -> str:
    steps, total = count.steps, count.table + count.index
    calls_of_aws = sum(count.calls.values()) / steps
    until = "" if count.fits == steps else f" (up to step {count.fits}, where it no longer fits an item)"
    return (
        f"| {steps} | {calls_of_aws:.2f} | {count.table / steps:.1f} + {count.index / steps:.1f} = {total / steps:.1f} "
        f"| {count.written / steps:,.0f} | {count.whole / count.fits:.1f}{until} "
        f"| {count.whole_written / count.fits:,.0f} |"
    )


def money_row(count: Count) -> str:
    paid = {name: 1000 * value for name, value in dollars(count).items()}
    ours = paid["table"] + paid["storage"] + paid["queue"]
    durable = paid["durable operations"] + paid["durable data"]
    whole = f"{paid['whole']:.3f}" if count.fits == count.steps else "does not fit"
    return (
        f"| {count.steps} | {ours:.3f} | {ours / count.steps:.4f} | {durable:.3f} "
        f"| {durable / count.steps:.4f} | {whole} | {paid['invocations']:.4f} | {paid['compute']:.2f} |"
    )


def main() -> None:
    logger.setLevel("ERROR")
    counts = [play(steps) for steps in [int(text) for text in sys.argv[1:]] or [10, 100, 500]]
    print("| steps | AWS calls | write units: table + indexes | bytes written | whole task: write units | its bytes |")
    print("|---|---|---|---|---|---|")
    print("\n".join(units_row(count) for count in counts))
    print("\n| steps | agentfn | a step | durable functions | a step | whole task | invocations | compute |")
    print("|---|---|---|---|---|---|---|---|")
    print("\n".join(money_row(count) for count in counts))


if __name__ == "__main__":
    main()
