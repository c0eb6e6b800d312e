"""The interface of tool protocols: how tools are declared to a model, and how its response is read."""

import dataclasses
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, Protocol

from agentfn.loop.tool_calls.lifecycle_tools import finish_text
from agentfn.models import ModelRequest, ModelResponse, Turn

TOOLS_OFF_PROMPT = "Tools are off now. Give your answer as plain text."

ToolProtocolName = Literal["auto", "native", "json"]


@dataclass(frozen=True)
class RetryPrompt:
    """Asks the model for a usable response. `text` is the unusable one, as the model will see it."""

    reason: str
    text: str = ""

    def turns(self) -> Iterable[Turn]:
        return [*([Turn("assistant", self.text)] if self.text else []), Turn("user", self.reason)]


class ToolProtocol(Protocol):
    """The transcript does not depend on the protocol, so a task may change from one to another.

    `can_stream` says that the model's text can be shown while it is written. `max_repeats` is how often the same call
    may be made in a row, if that is less than the loop's limit.
    """

    @property
    def can_stream(self) -> bool: ...

    @property
    def max_repeats(self) -> int | None: ...

    def to_request(self, request: ModelRequest) -> ModelRequest:
        """The request in the form of this protocol."""

    def read_response(self, response: ModelResponse, request: ModelRequest) -> ModelResponse | RetryPrompt:
        """The response with its tool calls. If `request.tool_choice` is "none", it can only be an answer."""

    def fall_back(self, response: ModelResponse) -> ModelResponse:
        """The answer that an unusable response stands for when there are no more retries."""


def drop_calls(response: ModelResponse) -> ModelResponse:
    """The response without its calls, which are not run. A call of `finish` supplies the text if there is none."""
    if not response.tool_calls:
        return response
    text = response.text if response.text.strip() else finish_text(response.tool_calls)
    return dataclasses.replace(response, text=text, tool_calls=(), finish_reason="stop")
