"""How a model is told of its tools, and how it asks for them: in its provider's own words, or as JSON in plain text."""

import dataclasses
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, Protocol

from agentfn.loop.tool_calls.lifecycle_tools import finish_text
from agentfn.models import Model, ModelRequest, ModelResponse, SupportsToolQuery, Turn

EMPTY_RESPONSE_PROMPT = "Your reply was empty. Call a tool or give your answer."
TOOLS_OFF_PROMPT = "Tools are off now. Give your answer as plain text."

ToolProtocolName = Literal["auto", "native", "json"]


@dataclass(frozen=True)
class RetryPrompt:
    """What a model is told of a reply that cannot be gone on with. `text` is that reply, as it will be shown to it."""

    reason: str
    text: str = ""

    def turns(self) -> Iterable[Turn]:
        return [*([Turn("assistant", self.text)] if self.text else []), Turn("user", self.reason)]


class ToolProtocol(Protocol):
    """The transcript is the same whichever way a model is spoken to: a task may change from one to the other.

    `streams` says that its text can be shown while it is produced, `repeats` how often the same call may be made in a
    row where that is less than the loop's own limit.
    """

    @property
    def can_stream(self) -> bool: ...

    @property
    def max_repeats(self) -> int | None: ...

    def to_request(self, request: ModelRequest) -> ModelRequest:
        """The prompt as this protocol puts it to the model."""

    def read_response(self, response: ModelResponse, request: ModelRequest) -> ModelResponse | RetryPrompt:
        """What the model meant. In a closing prompt, one with `tool_choice` "none", it can only mean an answer."""

    def fall_back(self, response: ModelResponse) -> ModelResponse:
        """What an unreadable reply counts as when the model was nudged often enough."""


class NativeToolProtocol:
    """Tool calls in the provider's own form."""

    can_stream = True
    max_repeats = None

    def to_request(self, request: ModelRequest) -> ModelRequest:
        return request

    def read_response(self, response: ModelResponse, request: ModelRequest) -> ModelResponse | RetryPrompt:
        if request.tool_choice == "none":
            response = drop_calls(response)
        if response.text.strip() or response.tool_calls or response.finish_reason == "content_filter":
            return response
        return RetryPrompt(TOOLS_OFF_PROMPT if request.tool_choice == "none" else EMPTY_RESPONSE_PROMPT)

    def fall_back(self, response: ModelResponse) -> ModelResponse:
        return dataclasses.replace(response, tool_calls=())


def drop_calls(reply: ModelResponse) -> ModelResponse:
    """A closing reply, whose calls are not made: what one of them would have answered is its text."""
    if not reply.tool_calls:
        return reply
    text = reply.text if reply.text.strip() else finish_text(reply.tool_calls)
    return dataclasses.replace(reply, text=text, tool_calls=(), finish_reason="stop")


async def select_protocol(model: Model, chosen: ToolProtocolName) -> ToolProtocol:
    """Native calls, unless JSON is chosen or the door knows that its model has no others."""
    from agentfn.loop.tool_protocols.json_actions import JsonToolProtocol

    if chosen == "auto":
        chosen = "json" if isinstance(model, SupportsToolQuery) and not await model.supports_tool_calls() else "native"
    return JsonToolProtocol() if chosen == "json" else NativeToolProtocol()
