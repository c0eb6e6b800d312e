"""lughus: its agent_loop on a client of our own, with the shapes of its testing module."""

import json
from collections.abc import Awaitable, Callable
from typing import Any

from lughus import ToolExecutionConfig, ToolRegistry, agent_loop
from lughus.testing import FakeChoice, FakeFunction, FakeMessage, FakeResponse, FakeToolCall, FakeUsage

# By itself 4 tools at once, and a history of 8,192 tokens: here as much as the others have.
CONFIG = ToolExecutionConfig(max_parallel_tools=8, max_context_tokens=1_000_000)


class Scripted:
    """Asks for the calls of each round, then answers."""

    model = "scripted"

    def __init__(self, rounds: int, calls: int, seconds: float) -> None:
        self._rounds, self._calls, self._seconds = rounds, calls, seconds
        self._round = 0

    async def generate(self, *, messages: Any, tools: Any = None) -> FakeResponse:
        self._round += 1
        done = self._round > self._rounds
        message = FakeMessage(content="Done.") if done else FakeMessage(tool_calls=self._wanted())
        return FakeResponse(choices=(FakeChoice(message=message),), usage=FakeUsage())

    def _wanted(self) -> tuple[FakeToolCall, ...]:
        first = self._round * self._calls
        return tuple(
            FakeToolCall(f"c{at}", FakeFunction("look", json.dumps({"at": at, "seconds": self._seconds})))
            for at in range(first, first + self._calls)
        )


def agent(look: Callable[..., Any], rounds: int, calls: int, seconds: float) -> Callable[[], Awaitable[Any]]:
    registry = ToolRegistry()
    registry.tool(look)
    return lambda: agent_loop(
        Scripted(rounds, calls, seconds),
        system="Look.",
        context="Go",
        registry=registry,
        tool_names=["look"],
        max_iterations=100,
        tool_config=CONFIG,
    )
