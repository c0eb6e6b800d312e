"""How long a task rests when its run is out of time: until the model is asked in the next run.

    python benchmarks/resume.py [times]

From the moment when the model call of the first run is given up, to the model call of the next one: save, let go,
queue, receive, load, take the lease. The queue is pumped at once and the process is warm; at AWS a message takes some
milliseconds more to be delivered, and a cold start comes on top.
"""

import asyncio
import statistics
import sys
import time

from agentfn import Agent
from agentfn.models import Model, ModelRequest, ModelResponse, ToolCall
from agentfn.telemetry import logger
from agentfn.testing import Stage


class Clockmaker(Model):
    """A model that never answers in its first run, and notes when it was given up and when it is asked again."""

    def __init__(self) -> None:
        self.name = "clockmaker"
        self.given_up = 0.0
        self.asked = 0.0

    async def generate(self, prompt: ModelRequest) -> ModelResponse:
        if self.given_up:
            self.asked = time.perf_counter()
            return ModelResponse("Done.")
        try:
            await asyncio.sleep(60)
        finally:
            self.given_up = time.perf_counter()
        return ModelResponse(tool_calls=(ToolCall("never", "never", "{}"),))


def once() -> float:
    """Milliseconds."""
    model = Clockmaker()
    agent = Agent(name="bench", description="Rests.")
    with Stage(agent, model, request_seconds=1.6, reserve_seconds=0.5) as stage:
        task = stage.send("Go!")
        while not model.asked:
            for message in stage.receive_messages():
                stage.deliver_message(message)
        if stage.get(task["id"])["status"]["state"] != "TASK_STATE_COMPLETED":
            raise SystemExit("the task did not go on")
    return 1000 * (model.asked - model.given_up)


def main() -> None:
    logger.setLevel("ERROR")
    times = sorted(once() for _ in range(int(sys.argv[1]) if sys.argv[1:] else 9))
    print("| runs | median, ms | fastest | slowest |")
    print("|---|---|---|---|")
    print(f"| {len(times)} | {statistics.median(times):.0f} | {times[0]:.0f} | {times[-1]:.0f} |")


if __name__ == "__main__":
    main()
