"""Asking the model, and the one owner of retries."""

import asyncio
import contextlib
import dataclasses
import itertools
import random
from collections.abc import AsyncGenerator

from agentfn.deadline import Deadline
from agentfn.errors import ModelUnavailable
from agentfn.loop.loop_events import Event, Notice, TextDelta
from agentfn.loop.loop_limits import Patience as Patience
from agentfn.models import Model, Prompt, Reply, Streams
from agentfn.tools.tool_output import writable

FIRST_PAUSE = 0.5
LONGEST_PAUSE = 20.0
SHORTEST_CALL = 1.0  # seconds; a model call with less time than this is not started
A_DAY = 86_400.0
LATE = 0.25  # seconds past a prompt's own timeout that a door gets to notice it


class OutOfTime(Exception):  # noqa: N818 - a signal inside the loop, not an error
    """This run cannot go on before its deadline; the next one should start in `resume_in` seconds."""

    def __init__(self, resume_in: float = 0.0) -> None:
        super().__init__()
        self.resume_in = resume_in


class Asking:
    """Asks one model for as long as a loop plays. With `stream`, the text is told while it is produced."""

    def __init__(self, model: Model, patience: Patience, *, stream: bool = False) -> None:
        self._model = model
        self._patience = patience
        self._stream = stream
        self.streams = stream and isinstance(model, Streams)
        self._left = patience.retries

    async def ask(self, step: int, prompt: Prompt, deadline: Deadline) -> AsyncGenerator[Event | Reply]:
        """The text in pieces, notices of retries, and last the reply.

        Raises OutOfTime where the deadline comes first, ModelError where the model is at fault.
        """
        shown = _Shown(step)
        for attempt in itertools.count():
            if deadline.left() < SHORTEST_CALL:
                raise OutOfTime
            try:
                once = self._once(dataclasses.replace(prompt, timeout=deadline.clip(self._patience.seconds)))
                async with contextlib.aclosing(once) as pieces:
                    async for piece in pieces:
                        for item in shown.ended(piece) if isinstance(piece, Reply) else shown.more(piece):
                            yield item
                self._left = min(self._patience.retries, self._left + (attempt == 0))
                return
            except ModelUnavailable as error:
                pause = self._pause(error, attempt, deadline)
                yield Notice(step, f"{error}; asking again in {pause:.1f} s")
                await asyncio.sleep(pause)
                shown.again()

    def _pause(self, error: ModelUnavailable, attempt: int, deadline: Deadline) -> float:
        """Seconds until the next attempt. Raises what ends the asking where there is none."""
        if deadline.left() < SHORTEST_CALL:
            raise OutOfTime(max(0.0, min(A_DAY, error.retry_after or 0.0))) from error
        if self._left == 0:
            raise error
        pause = _backoff(attempt, error.retry_after)
        if pause + SHORTEST_CALL > deadline.left():
            raise OutOfTime(pause) from error
        self._left -= 1
        return pause

    async def _once(self, prompt: Prompt) -> AsyncGenerator[str | Reply]:
        """A door keeps its own timeout; this one is for a door that does not."""
        until = asyncio.get_running_loop().time() + prompt.timeout + LATE
        try:
            if not (self._stream and isinstance(self._model, Streams)):
                async with asyncio.timeout_at(until):
                    reply = await self._model.ask(prompt)
                yield reply
                return
            async with contextlib.aclosing(self._model.stream(prompt)) as pieces:
                while True:
                    async with asyncio.timeout_at(until):  # never around a yield: it would end the reader's wait
                        piece = await anext(pieces, None)
                    if piece is None:
                        raise ModelUnavailable(f"{self._model.name} ended its stream without a reply")
                    yield piece
                    if isinstance(piece, Reply):
                        return
        except TimeoutError:
            raise ModelUnavailable(f"{self._model.name} did not answer within {prompt.timeout:.0f} s") from None


def agreement(one: str, other: str) -> int:
    """How many characters they begin with alike."""
    pairs = zip(one, other, strict=False)
    return next((place for place, (a, b) in enumerate(pairs) if a != b), min(len(one), len(other)))


class _Shown:
    """What of one turn's text was told: a stream that is begun again does not tell the same text twice."""

    def __init__(self, step: int) -> None:
        self._step = step
        self._told = ""
        self._now = ""

    def again(self) -> None:
        self._now = ""

    def more(self, piece: str) -> list[TextDelta]:
        self._now += writable(piece)
        if self._told.startswith(self._now):
            return []
        same = agreement(self._told, self._now)
        self._told = self._now
        return [TextDelta(self._step, self._now[same:], same)]

    def ended(self, reply: Reply) -> list[Event | Reply]:
        """A reply that is shorter than what a broken stream had told takes the rest back."""
        excess = len(self._told) > len(self._now)
        return [*([TextDelta(self._step, "", len(self._now))] if excess else []), reply]


def _backoff(attempt: int, retry_after: float | None) -> float:
    """Exponential, with jitter so that many tasks do not come back at once; the provider's own word goes first."""
    jitter = random.uniform(0.75, 1.25)  # noqa: S311 - not for secrets
    if retry_after is not None:
        return max(0.0, min(A_DAY, retry_after)) + (jitter - 0.75)
    return min(LONGEST_PAUSE, FIRST_PAUSE * 2.0 ** min(attempt, 10)) * jitter
