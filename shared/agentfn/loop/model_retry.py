"""Asking the model, and the one owner of retries."""

import asyncio
import contextlib
import dataclasses
import itertools
import random
from collections.abc import AsyncGenerator

from agentfn.deadline import Deadline
from agentfn.errors import ModelUnavailable
from agentfn.loop.loop_events import LoopEvent, Notice, TextDelta
from agentfn.loop.loop_limits import RetryPolicy as RetryPolicy
from agentfn.models import Model, ModelRequest, ModelResponse, SupportsStreaming
from agentfn.tools.tool_output import replace_surrogates

INITIAL_BACKOFF_SECONDS = 0.5
MAX_BACKOFF_SECONDS = 20.0
MIN_CALL_SECONDS = 1.0  # seconds; a model call with less time than this is not started
MAX_RETRY_AFTER_SECONDS = 86_400.0
TIMEOUT_MARGIN_SECONDS = 0.25  # seconds past a prompt's own timeout that a door gets to notice it


class DeadlineReached(Exception):  # noqa: N818 - a signal inside the loop, not an error
    """This run cannot go on before its deadline; the next one should start in `resume_in` seconds."""

    def __init__(self, resume_in_seconds: float = 0.0) -> None:
        super().__init__()
        self.resume_in_seconds = resume_in_seconds


class RetryingModel:
    """Asks one model for as long as a loop plays. With `stream`, the text is told while it is produced."""

    def __init__(self, model: Model, retry_policy: RetryPolicy, *, stream: bool = False) -> None:
        self._model = model
        self._retry_policy = retry_policy
        self._stream = stream
        self.streams = stream and isinstance(model, SupportsStreaming)
        self._retries_left = retry_policy.max_retries

    async def ask(
        self, step: int, prompt: ModelRequest, deadline: Deadline
    ) -> AsyncGenerator[LoopEvent | ModelResponse]:
        """The text in pieces, notices of retries, and last the reply.

        Raises OutOfTime where the deadline comes first, ModelError where the model is at fault.
        """
        shown = _StreamedText(step)
        for attempt in itertools.count():
            if deadline.remaining() < MIN_CALL_SECONDS:
                raise DeadlineReached
            try:
                once = self._attempt(
                    dataclasses.replace(prompt, timeout=deadline.limit(self._retry_policy.timeout_seconds))
                )
                async with contextlib.aclosing(once) as pieces:
                    async for piece in pieces:
                        for item in shown.finish(piece) if isinstance(piece, ModelResponse) else shown.append(piece):
                            yield item
                self._retries_left = min(self._retry_policy.max_retries, self._retries_left + (attempt == 0))
                return
            except ModelUnavailable as error:
                pause = self._next_pause(error, attempt, deadline)
                yield Notice(step, f"{error}; asking again in {pause:.1f} s")
                await asyncio.sleep(pause)
                shown.restart()

    def _next_pause(self, error: ModelUnavailable, attempt: int, deadline: Deadline) -> float:
        """Seconds until the next attempt. Raises what ends the asking where there is none."""
        if deadline.remaining() < MIN_CALL_SECONDS:
            raise DeadlineReached(max(0.0, min(MAX_RETRY_AFTER_SECONDS, error.retry_after or 0.0))) from error
        if self._retries_left == 0:
            raise error
        pause = _backoff(attempt, error.retry_after)
        if pause + MIN_CALL_SECONDS > deadline.remaining():
            raise DeadlineReached(pause) from error
        self._retries_left -= 1
        return pause

    async def _attempt(self, prompt: ModelRequest) -> AsyncGenerator[str | ModelResponse]:
        """A door keeps its own timeout; this one is for a door that does not."""
        until = asyncio.get_running_loop().time() + prompt.timeout + TIMEOUT_MARGIN_SECONDS
        try:
            if not (self._stream and isinstance(self._model, SupportsStreaming)):
                async with asyncio.timeout_at(until):
                    reply = await self._model.generate(prompt)
                yield reply
                return
            async with contextlib.aclosing(self._model.stream(prompt)) as pieces:
                while True:
                    async with asyncio.timeout_at(until):  # never around a yield: it would end the reader's wait
                        piece = await anext(pieces, None)
                    if piece is None:
                        raise ModelUnavailable(f"{self._model.name} ended its stream without a reply")
                    yield piece
                    if isinstance(piece, ModelResponse):
                        return
        except TimeoutError:
            raise ModelUnavailable(f"{self._model.name} did not answer within {prompt.timeout:.0f} s") from None


def common_prefix_length(one: str, other: str) -> int:
    """How many characters they begin with alike."""
    pairs = zip(one, other, strict=False)
    return next((place for place, (a, b) in enumerate(pairs) if a != b), min(len(one), len(other)))


class _StreamedText:
    """What of one turn's text was told: a stream that is begun again does not tell the same text twice."""

    def __init__(self, step: int) -> None:
        self._step = step
        self._sent = ""
        self._current = ""

    def restart(self) -> None:
        self._current = ""

    def append(self, piece: str) -> list[TextDelta]:
        self._current += replace_surrogates(piece)
        if self._sent.startswith(self._current):
            return []
        same = common_prefix_length(self._sent, self._current)
        self._sent = self._current
        return [TextDelta(self._step, self._current[same:], same)]

    def finish(self, reply: ModelResponse) -> list[LoopEvent | ModelResponse]:
        """A reply that is shorter than what a broken stream had told takes the rest back."""
        excess = len(self._sent) > len(self._current)
        return [*([TextDelta(self._step, "", len(self._current))] if excess else []), reply]


def _backoff(attempt: int, retry_after: float | None) -> float:
    """Exponential, with jitter so that many tasks do not come back at once; the provider's own word goes first."""
    jitter = random.uniform(0.75, 1.25)  # noqa: S311 - not for secrets
    if retry_after is not None:
        return max(0.0, min(MAX_RETRY_AFTER_SECONDS, retry_after)) + (jitter - 0.75)
    return min(MAX_BACKOFF_SECONDS, INITIAL_BACKOFF_SECONDS * 2.0 ** min(attempt, 10)) * jitter
