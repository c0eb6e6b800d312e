"""pydantic-ai: an Agent on a FunctionModel."""

from collections.abc import Awaitable, Callable
from typing import Any

from pydantic_ai import Agent
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.usage import UsageLimits


def agent(look: Callable[..., Any], rounds: int, calls: int, seconds: float) -> Callable[[], Awaitable[Any]]:
    asked = 0

    async def answer(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        nonlocal asked
        asked += 1
        if asked > rounds:
            return ModelResponse([TextPart("Done.")])
        first = asked * calls
        wanted = [{"at": at, "seconds": seconds} for at in range(first, first + calls)]
        return ModelResponse([ToolCallPart("look", one, tool_call_id=f"c{one['at']}") for one in wanted])

    made = Agent(FunctionModel(answer), tools=[look])
    return lambda: made.run("Go", usage_limits=UsageLimits(request_limit=None))  # of 50 by itself
