"""agentfn: the loop alone, on a transcript in memory."""

import json
from collections.abc import Awaitable, Callable
from typing import Any

from agentfn.loop import AgentLoop, LoopLimits
from agentfn.models import Model, ModelRequest, ModelResponse, ToolCall, Turn
from agentfn.tools import ToolRegistry


class Scripted(Model):
    """Asks for the calls of each round, then answers."""

    name = "scripted"

    def __init__(self, rounds: int, calls: int, seconds: float) -> None:
        self._rounds, self._calls, self._seconds = rounds, calls, seconds
        self._round = 0

    async def generate(self, prompt: ModelRequest) -> ModelResponse:
        self._round += 1
        if self._round > self._rounds:
            return ModelResponse("Done.")
        first = self._round * self._calls
        calls = [
            ToolCall(f"c{at}", "look", json.dumps({"at": at, "seconds": self._seconds}))
            for at in range(first, first + self._calls)
        ]
        return ModelResponse(tool_calls=tuple(calls), finish_reason="tool_calls")


def agent(look: Callable[..., Any], rounds: int, calls: int, seconds: float) -> Callable[[], Awaitable[Any]]:
    loop = AgentLoop(
        Scripted(rounds, calls, seconds), ToolRegistry([look]), limits=LoopLimits(max_steps=100, max_repeats=100)
    )
    return lambda: loop.run([Turn("user", "Go")])
