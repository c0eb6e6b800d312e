"""A turn of the model: asked for until it can be gone on with."""

import contextlib
import dataclasses
from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass

from agentfn.deadline import Deadline
from agentfn.errors import ModelTooLong
from agentfn.loop.history_window import budget, trimmed
from agentfn.loop.loop_events import Event, ModelTurn, Notice, TextDelta
from agentfn.loop.loop_limits import LoopLimits
from agentfn.loop.model_retry import Asking, agreement
from agentfn.loop.tool_calls.lifecycle_tools import LIFECYCLE
from agentfn.loop.tool_protocols.tool_protocol import ToolProtocol
from agentfn.loop.transcript import distinct, shown, whole
from agentfn.models import Prompt, Reply, Turn, Usage

LEAST_CHARS = 2_000  # of a transcript; one that is too long even so is the model's last word


@dataclass(frozen=True)
class Speaking:
    asking: Asking
    protocol: ToolProtocol
    limits: LoopLimits

    async def turn(self, step: int, prompt: Prompt, deadline: Deadline) -> AsyncGenerator[Event]:
        """The events of its making, then a ModelTurn. `prompt` holds the whole transcript.

        What an unreadable reply was answered with is told to the model and not kept; it is paid for all the same.
        """
        aside: list[Turn] = []
        spent = Usage()
        screen = ""
        for nudges in range(self.limits.nudges + 1):
            async with contextlib.aclosing(self._reply(step, prompt, aside, deadline)) as items:
                async for item in items:
                    if isinstance(item, TextDelta):
                        screen = screen[: item.offset] + item.text
                    if isinstance(item, Event):
                        yield item
                    else:
                        reply = whole(item)
            spent += reply.usage
            if reply.finish == "content_filter":  # what is left of it was not meant to be acted on
                reply = dataclasses.replace(reply, calls=())
            read = self.protocol.read(reply, prompt)
            meant = read if isinstance(read, Reply) else self.protocol.give_up(reply)
            if isinstance(read, Reply) or nudges == self.limits.nudges:
                break
            yield Notice(step, f"a reply that cannot be gone on with; the model was told: {read.reason}")
            aside += read.turns()
        meant = whole(meant)  # an escaped half of a character comes to light when JSON is read
        calls = distinct(meant.calls, prompt.turns)
        turn = dataclasses.replace(meant, calls=calls, usage=spent).turn
        if self.asking.streams and screen != turn.text:
            same = agreement(screen, turn.text)
            yield TextDelta(step, turn.text[same:], same)
        yield ModelTurn(step, turn, any(call.name not in LIFECYCLE for call in calls), meant.finish)

    async def _reply(
        self, step: int, prompt: Prompt, aside: Sequence[Turn], deadline: Deadline
    ) -> AsyncGenerator[Event | Reply]:
        """The reply to as much of the transcript as the limits and the model allow."""
        chars = budget(prompt.turns, self.limits.history_chars, self.limits.history_tokens)
        while True:
            turns = (*trimmed(shown(prompt.turns), chars), *aside)
            try:
                put = self.protocol.prompt(dataclasses.replace(prompt, turns=turns))
                async with contextlib.aclosing(self.asking.ask(step, put, deadline)) as items:
                    async for item in items:
                        yield item
                return
            except ModelTooLong as error:
                chars = min(chars, sum(len(turn.text) for turn in turns)) // 2
                if chars < LEAST_CHARS:
                    raise
                yield Notice(step, f"{error}; asking again with the newest {chars:,} characters of the transcript")
