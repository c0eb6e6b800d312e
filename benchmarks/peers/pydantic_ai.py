"""pydantic-ai: an Agent on a FunctionModel."""

import asyncio
from collections.abc import Awaitable, Callable

from pydantic_ai import Agent
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.usage import UsageLimits


def agent(rounds: int, calls: int, seconds: float) -> Callable[[], Awaitable[int]]:
    ran = []
    asked = 0

    async def look(at: int, seconds: float) -> str:
        """Looks at something."""
        if seconds:
            await asyncio.sleep(seconds)
        ran.append(at)
        return f"seen {at}"

    async def answer(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        nonlocal asked
        asked += 1
        if asked > rounds:
            return ModelResponse([TextPart("Done.")])
        first = asked * calls
        wanted = [{"at": at, "seconds": seconds} for at in range(first, first + calls)]
        return ModelResponse([ToolCallPart("look", one, tool_call_id=f"c{one['at']}") for one in wanted])

    made = Agent(FunctionModel(answer), tools=[look])

    async def play() -> int:
        await made.run("Go", usage_limits=UsageLimits(request_limit=None))  # of 50 by itself
        return len(ran)

    return play


def steps(count: int) -> Callable[[], Awaitable[int]]:
    return agent(count, 1, 0.0)


def parallel(count: int, seconds: float) -> Callable[[], Awaitable[int]]:
    return agent(1, count, seconds)
