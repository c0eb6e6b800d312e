"""A turn of the model: asked for until it can be gone on with."""

import contextlib
import dataclasses
from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass

from agentfn.deadline import Deadline
from agentfn.errors import ContextWindowExceeded
from agentfn.loop.history_window import char_budget, trim_history
from agentfn.loop.loop_events import LoopEvent, ModelTurn, Notice, TextDelta
from agentfn.loop.loop_limits import LoopLimits
from agentfn.loop.model_retry import RetryingModel, common_prefix_length
from agentfn.loop.tool_calls.lifecycle_tools import LIFECYCLE_TOOLS
from agentfn.loop.tool_protocols.tool_protocol import ToolProtocol
from agentfn.loop.transcript import sanitize_response, visible_turns, with_unique_ids
from agentfn.models import ModelRequest, ModelResponse, Turn, Usage

MIN_HISTORY_CHARS = 2_000  # of a transcript; one that is too long even so is the model's last word


@dataclass(frozen=True)
class ModelTurnRunner:
    model: RetryingModel
    protocol: ToolProtocol
    limits: LoopLimits

    async def run(self, step: int, prompt: ModelRequest, deadline: Deadline) -> AsyncGenerator[LoopEvent]:
        """The events of its making, then a ModelTurn. `prompt` holds the whole transcript.

        What an unreadable reply was answered with is told to the model and not kept; it is paid for all the same.
        """
        aside: list[Turn] = []
        spent = Usage()
        screen = ""
        for nudges in range(self.limits.max_retry_prompts + 1):
            async with contextlib.aclosing(self._request(step, prompt, aside, deadline)) as items:
                async for item in items:
                    if isinstance(item, TextDelta):
                        screen = screen[: item.offset] + item.text
                    if isinstance(item, LoopEvent):
                        yield item
                    else:
                        reply = sanitize_response(item)
            spent += reply.usage
            if reply.finish_reason == "content_filter":  # what is left of it was not meant to be acted on
                reply = dataclasses.replace(reply, tool_calls=())
            read = self.protocol.read_response(reply, prompt)
            meant = read if isinstance(read, ModelResponse) else self.protocol.fall_back(reply)
            if isinstance(read, ModelResponse) or nudges == self.limits.max_retry_prompts:
                break
            yield Notice(step, f"a reply that cannot be gone on with; the model was told: {read.reason}")
            aside += read.turns()
        meant = sanitize_response(meant)  # an escaped half of a character comes to light when JSON is read
        calls = with_unique_ids(meant.tool_calls, prompt.turns)
        turn = dataclasses.replace(meant, tool_calls=calls, usage=spent).turn
        if self.model.streams and screen != turn.text:
            same = common_prefix_length(screen, turn.text)
            yield TextDelta(step, turn.text[same:], same)
        yield ModelTurn(step, turn, any(call.name not in LIFECYCLE_TOOLS for call in calls), meant.finish_reason)

    async def _request(
        self, step: int, prompt: ModelRequest, aside: Sequence[Turn], deadline: Deadline
    ) -> AsyncGenerator[LoopEvent | ModelResponse]:
        """The reply to as much of the transcript as the limits and the model allow."""
        chars = char_budget(prompt.turns, self.limits.max_history_chars, self.limits.max_history_tokens)
        while True:
            turns = (*trim_history(visible_turns(prompt.turns), chars), *aside)
            try:
                put = self.protocol.to_request(dataclasses.replace(prompt, turns=turns))
                async with contextlib.aclosing(self.model.ask(step, put, deadline)) as items:
                    async for item in items:
                        yield item
                return
            except ContextWindowExceeded as error:
                chars = min(chars, sum(len(turn.text) for turn in turns)) // 2
                if chars < MIN_HISTORY_CHARS:
                    raise
                yield Notice(step, f"{error}; asking again with the newest {chars:,} characters of the transcript")
