"""How a model is told of its tools, and how it asks for them: in its provider's own words, or as JSON in plain text."""

import dataclasses
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, Protocol

from agentfn.loop.tool_calls.lifecycle_tools import answer_in
from agentfn.models import KnowsTools, Model, Prompt, Reply, Turn

EMPTY = "Your reply was empty. Call a tool or give your answer."
TOOLS_OFF = "Tools are off now. Give your answer as plain text."

ProtocolName = Literal["auto", "native", "json"]


@dataclass(frozen=True)
class Nudge:
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
    def streams(self) -> bool: ...

    @property
    def repeats(self) -> int | None: ...

    def prompt(self, prompt: Prompt) -> Prompt:
        """The prompt as this protocol puts it to the model."""

    def read(self, reply: Reply, prompt: Prompt) -> Reply | Nudge:
        """What the model meant. In a closing prompt, one with `tool_choice` "none", it can only mean an answer."""

    def give_up(self, reply: Reply) -> Reply:
        """What an unreadable reply counts as when the model was nudged often enough."""


class NativeCalls:
    """Tool calls in the provider's own form."""

    streams = True
    repeats = None

    def prompt(self, prompt: Prompt) -> Prompt:
        return prompt

    def read(self, reply: Reply, prompt: Prompt) -> Reply | Nudge:
        if prompt.tool_choice == "none":
            reply = without_calls(reply)
        if reply.text.strip() or reply.calls or reply.finish == "content_filter":
            return reply
        return Nudge(TOOLS_OFF if prompt.tool_choice == "none" else EMPTY)

    def give_up(self, reply: Reply) -> Reply:
        return dataclasses.replace(reply, calls=())


def without_calls(reply: Reply) -> Reply:
    """A closing reply, whose calls are not made: what one of them would have answered is its text."""
    if not reply.calls:
        return reply
    text = reply.text if reply.text.strip() else answer_in(reply.calls)
    return dataclasses.replace(reply, text=text, calls=(), finish="stop")


async def protocol_for(model: Model, chosen: ProtocolName) -> ToolProtocol:
    """Native calls, unless JSON is chosen or the door knows that its model has no others."""
    from agentfn.loop.tool_protocols.json_actions import JsonActions

    if chosen == "auto":
        chosen = "json" if isinstance(model, KnowsTools) and not await model.calls_tools() else "native"
    return JsonActions() if chosen == "json" else NativeCalls()
