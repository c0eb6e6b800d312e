"""What agentfn adds to a loop: milliseconds a step, with a model and a tool that take no time.

    python benchmarks/overhead.py [steps ...]

The loop alone keeps its transcript in memory and nothing else. Then the same loop with the store, the journal, the
lease and the handler around it, on an AWS in memory; what that AWS itself takes for its calls is measured apart, as it
is moto's time and not DynamoDB's, which would be some milliseconds of waiting for each call.
"""

import asyncio
import sys
import threading
import time
from typing import Any

from moto.core.botocore_stubber import BotocoreStubber

from agentfn import Agent, Deadline, tool
from agentfn.files import Bucket, TaskWorkspace
from agentfn.loop import AgentLoop, LoopEnvironment, LoopLimits
from agentfn.models import ModelRequest, Turn
from agentfn.telemetry import logger
from agentfn.testing import Stage, calls
from agentfn.testing.scripted_model import ScriptedModel


@tool(idempotent=True)
async def look(at: int) -> str:
    """Looks at something."""
    return f"seen {at}"


AGENT = Agent(name="bench", description="Takes steps.", tools=[look])


def model_of(steps: int) -> ScriptedModel:
    def answer(prompt: ModelRequest) -> Any:
        taken = sum(turn.role == "assistant" for turn in prompt.turns)
        return "Done." if taken >= steps else calls("look", at=taken)

    return ScriptedModel.from_function(answer)


def alone(steps: int) -> float:
    """Seconds of the loop by itself."""

    def no_bucket() -> Any:
        raise AssertionError("nothing is stored")

    with TaskWorkspace(Bucket(no_bucket, "none", 60), "none/") as files:
        loop = AgentLoop(
            model=model_of(steps),
            tools=AGENT.registry,
            limits=LoopLimits(max_steps=steps + 1, max_repeats=100),
            environment=LoopEnvironment("bench", files, Deadline.after(600)),
        )
        started = time.perf_counter()
        result = asyncio.run(loop.run([Turn("user", "Go!")]))
    if result.status != "completed":
        raise SystemExit(f"the loop of {steps} steps ended as {result.status}")
    return time.perf_counter() - started


class Stopwatch:
    """The seconds that moto takes, whichever thread it is called in."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self._answer = BotocoreStubber.__call__
        self._lock = threading.Lock()

    def __enter__(self) -> "Stopwatch":
        def timed(*arguments: Any, **named: Any) -> Any:
            started = time.perf_counter()
            try:
                return self._answer(*arguments, **named)
            finally:
                with self._lock:
                    self.seconds += time.perf_counter() - started

        BotocoreStubber.__call__ = timed
        return self

    def __exit__(self, *_: object) -> None:
        BotocoreStubber.__call__ = self._answer


def stored(steps: int) -> tuple[float, float]:
    """Seconds of a task through the handler, and how many of them moto took."""
    with Stopwatch() as watch, Stage(AGENT, model_of(steps), max_steps=steps + 1, max_repeats=100) as stage:
        stage.send("Go!", wait=False)
        [message] = stage.receive_messages()
        watch.seconds = 0.0
        started = time.perf_counter()
        stage.deliver_message(message)
        return time.perf_counter() - started, watch.seconds


def main() -> None:
    logger.setLevel("ERROR")
    print("| steps | loop alone, ms a step | with the store | of it moto | without moto | ratio, without moto |")
    print("|---|---|---|---|---|---|")
    alone(5), stored(5)  # what is imported and compiled at first use
    for steps in [int(text) for text in sys.argv[1:]] or [10, 50, 100]:
        bare = alone(steps)
        whole, moto = stored(steps)
        times = [1000 * seconds / steps for seconds in (bare, whole, moto, whole - moto)]
        print(f"| {steps} | " + " | ".join(f"{value:.1f}" for value in times) + f" | {times[3] / times[0]:.1f} |")


if __name__ == "__main__":
    main()
