"""What a step costs: AWS calls, write units and time, with a model that answers at once and an AWS in memory.

    python benchmarks/steps.py [steps ...]

The times are of this machine and of moto, not of AWS: compare the rows of one run with each other.
"""

import sys
import time
from typing import Any

from agentfn import Agent, tool
from agentfn.models import Prompt
from agentfn.telemetry import logger
from agentfn.testing import Stage, calls
from agentfn.testing.scripted import ScriptedModel
from agentfn.wiring import client

WRITE_UNIT = 1024  # bytes; a transaction costs two units for each


@tool(idempotent=True)
def look(at: int) -> str:
    """Looks at something."""
    return f"seen {at}"


class Meter:
    """Bytes of the items that are written, as sent."""

    def __init__(self) -> None:
        self.units = 0

    def __call__(self, params: dict[str, Any], **_: Any) -> None:
        for action in params["TransactItems"]:
            [(_, body)] = action.items()
            written = body.get("Item") or body.get("ExpressionAttributeValues")
            self.units += 2 * -(-len(repr(written)) // WRITE_UNIT)


def answer(prompt: Prompt, steps: int) -> Any:
    taken = sum(turn.role == "assistant" for turn in prompt.turns)
    return "Done." if taken >= steps else calls("look", at=taken)


def play(steps: int) -> str:
    model = ScriptedModel.by_turn(lambda prompt: answer(prompt, steps))
    agent = Agent(name="bench", description="Takes steps.", tools=[look])
    with Stage(agent, model, max_steps=steps + 1, max_repeats=100) as stage:
        meter = Meter()
        client("dynamodb").meta.events.register("provide-client-params.dynamodb.TransactWriteItems", meter)
        started = time.perf_counter()
        task = stage.send("Go!", wait=False)
        stage.pump()
        seconds = time.perf_counter() - started
        state = stage.get(task["id"])["status"]["state"]
    if state != "TASK_STATE_COMPLETED":
        raise SystemExit(f"the task of {steps} steps ended as {state}")
    total = sum(stage.calls.values())
    return f"{steps:>7} {total / steps:>16.2f} {meter.units / steps:>20.2f} {1000 * seconds / steps:>12.1f}"


def main() -> None:
    logger.setLevel("ERROR")
    print(f"{'steps':>7} {'AWS calls/step':>16} {'write units/step':>20} {'ms/step':>12}")
    for steps in [int(text) for text in sys.argv[1:]] or [10, 100, 500]:
        print(play(steps))


if __name__ == "__main__":
    main()
