"""strands-agents: an Agent on a Model of our own, with the whole transcript kept and nothing printed."""

import json
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

from strands import Agent, tool
from strands.agent.conversation_manager import NullConversationManager
from strands.models import Model


class Scripted(Model):
    """Asks for the calls of each round, then answers."""

    def __init__(self, rounds: int, calls: int, seconds: float) -> None:
        self._rounds, self._calls, self._seconds = rounds, calls, seconds
        self._round = 0

    def update_config(self, **model_config: Any) -> None:
        raise NotImplementedError("there is nothing to configure")

    def get_config(self) -> dict[str, Any]:
        return {"model_id": "scripted"}

    def structured_output(self, *_: Any, **__: Any) -> Any:
        raise NotImplementedError("nothing here is structured")

    async def stream(self, *_: Any, **__: Any) -> AsyncIterator[Any]:
        self._round += 1
        done = self._round > self._rounds
        first = self._round * self._calls
        yield {"messageStart": {"role": "assistant"}}
        if done:
            yield {"contentBlockDelta": {"delta": {"text": "Done."}}}
            yield {"contentBlockStop": {}}
        for at in range(first, first + self._calls) if not done else ():
            arguments = json.dumps({"at": at, "seconds": self._seconds})
            yield {"contentBlockStart": {"start": {"toolUse": {"toolUseId": f"c{at}", "name": "look"}}}}
            yield {"contentBlockDelta": {"delta": {"toolUse": {"input": arguments}}}}
            yield {"contentBlockStop": {}}
        yield {"messageStop": {"stopReason": "end_turn" if done else "tool_use"}}


def agent(look: Callable[..., Any], rounds: int, calls: int, seconds: float) -> Callable[[], Awaitable[Any]]:
    made = Agent(
        model=Scripted(rounds, calls, seconds),
        tools=[tool(look)],
        callback_handler=None,
        conversation_manager=NullConversationManager(),  # the one by itself drops all but 40 messages
    )
    return lambda: made.invoke_async("Go")
