"""openai-agents: a Runner on a Model of our own, without tracing."""

import json
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

from agents import Agent, ModelResponse, RunConfig, Runner, Usage, function_tool
from agents.models.interface import Model
from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText


class Scripted(Model):
    """Asks for the calls of each round, then answers."""

    def __init__(self, rounds: int, calls: int, seconds: float) -> None:
        self._rounds, self._calls, self._seconds = rounds, calls, seconds
        self._round = 0

    async def get_response(self, *_: Any, **__: Any) -> ModelResponse:
        self._round += 1
        output = [self._answer()] if self._round > self._rounds else self._wanted()
        return ModelResponse(output=output, usage=Usage(), response_id=None)

    def stream_response(self, *_: Any, **__: Any) -> AsyncIterator[Any]:
        raise NotImplementedError("nothing here streams")

    def _wanted(self) -> list[Any]:
        first = self._round * self._calls
        return [
            ResponseFunctionToolCall(
                type="function_call",
                call_id=f"c{at}",
                name="look",
                arguments=json.dumps({"at": at, "seconds": self._seconds}),
            )
            for at in range(first, first + self._calls)
        ]

    def _answer(self) -> ResponseOutputMessage:
        text = ResponseOutputText(type="output_text", text="Done.", annotations=[])
        return ResponseOutputMessage(id="m1", type="message", role="assistant", status="completed", content=[text])


def agent(look: Callable[..., Any], rounds: int, calls: int, seconds: float) -> Callable[[], Awaitable[Any]]:
    made = Agent(name="bench", model=Scripted(rounds, calls, seconds), tools=[function_tool(look)])
    return lambda: Runner.run(made, "Go", max_turns=100, run_config=RunConfig(tracing_disabled=True))
