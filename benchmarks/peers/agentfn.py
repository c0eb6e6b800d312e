"""agentfn: the loop alone, on a transcript in memory."""

import asyncio
import json
from collections.abc import Awaitable, Callable

from agentfn import tool
from agentfn.loop import Loop, LoopLimits
from agentfn.models import Call, Prompt, Reply, Turn
from agentfn.tools import Registry


class Scripted:
    """Asks for the calls of each round, then answers."""

    name = "scripted"

    def __init__(self, rounds: int, calls: int, seconds: float) -> None:
        self._rounds, self._calls, self._seconds = rounds, calls, seconds
        self._round = 0

    async def ask(self, prompt: Prompt) -> Reply:
        self._round += 1
        if self._round > self._rounds:
            return Reply("Done.")
        first = self._round * self._calls
        calls = [
            Call(f"c{at}", "look", json.dumps({"at": at, "seconds": self._seconds}))
            for at in range(first, first + self._calls)
        ]
        return Reply(calls=tuple(calls), finish="tool_calls")


def agent(rounds: int, calls: int, seconds: float) -> Callable[[], Awaitable[int]]:
    ran = []

    @tool(idempotent=True)
    async def look(at: int, seconds: float) -> str:
        """Looks at something."""
        if seconds:
            await asyncio.sleep(seconds)
        ran.append(at)
        return f"seen {at}"

    loop = Loop(Scripted(rounds, calls, seconds), Registry([look]), limits=LoopLimits(steps=100, repeats=100))

    async def play() -> int:
        result = await loop.run([Turn("user", "Go")])
        if result.status != "completed":
            raise SystemExit(f"the loop ended as {result.status}")
        return len(ran)

    return play


def steps(count: int) -> Callable[[], Awaitable[int]]:
    return agent(count, 1, 0.0)


def parallel(count: int, seconds: float) -> Callable[[], Awaitable[int]]:
    return agent(1, count, seconds)
