"""Calls of the model with retries, backoff and a timeout. Nothing else in the package retries model calls."""

import asyncio
import contextlib
import dataclasses
import itertools
import random
from collections.abc import AsyncGenerator

from agentfn.deadline import Deadline
from agentfn.errors import ModelUnavailable
from agentfn.loop.loop_events import LoopEvent, Notice, TextDelta
from agentfn.loop.loop_limits import RetryPolicy
from agentfn.models import Model, ModelRequest, ModelResponse, SupportsStreaming
from agentfn.tools.tool_output import replace_surrogates

INITIAL_BACKOFF_SECONDS = 0.5
MAX_BACKOFF_SECONDS = 20.0
MIN_CALL_SECONDS = 1.0  # a model call is not started with less time remaining
MAX_RETRY_AFTER_SECONDS = 86_400.0
TIMEOUT_MARGIN_SECONDS = 0.25  # a model keeps `request.timeout` itself; this much later the loop ends the call


class DeadlineReached(Exception):  # noqa: N818 - a signal inside the loop, not an error
    """The run cannot continue before its deadline. The next run should start in `resume_in_seconds`."""

    def __init__(self, resume_in_seconds: float = 0.0) -> None:
        super().__init__()
        self.resume_in_seconds = resume_in_seconds


class RetryingModel:
    """A model with retries, used by one loop. With `stream`, it yields the text while the model writes it."""

    def __init__(self, model: Model, retry_policy: RetryPolicy, *, stream: bool = False) -> None:
        self._model = model
        self._retry_policy = retry_policy
        self.streams = stream and isinstance(model, SupportsStreaming)
        self._retries_left = retry_policy.max_retries

    async def generate(
        self, step: int, request: ModelRequest, deadline: Deadline
    ) -> AsyncGenerator[LoopEvent | ModelResponse]:
        """Yields TextDelta events, a Notice for each retry, and last the response.

        Raises DeadlineReached if the deadline comes first, ModelError if the model fails for good.
        """
        text = _StreamedText(step)
        for attempt in itertools.count():
            if deadline.remaining() < MIN_CALL_SECONDS:
                raise DeadlineReached
            try:
                timeout = deadline.limit(self._retry_policy.timeout_seconds)
                call = self._call_model(dataclasses.replace(request, timeout=timeout))
                async with contextlib.aclosing(call) as chunks:
                    async for chunk in chunks:
                        for item in text.finish(chunk) if isinstance(chunk, ModelResponse) else text.append(chunk):
                            yield item
                self._retries_left = min(self._retry_policy.max_retries, self._retries_left + (attempt == 0))
                return
            except ModelUnavailable as error:
                pause = self._next_pause(error, attempt, deadline)
                yield Notice(step, f"{error}; asking again in {pause:.1f} s")
                await asyncio.sleep(pause)
                text.restart()

    def _next_pause(self, error: ModelUnavailable, attempt: int, deadline: Deadline) -> float:
        """Seconds until the next attempt. Raises DeadlineReached or `error` if there is none."""
        if deadline.remaining() < MIN_CALL_SECONDS:
            raise DeadlineReached(max(0.0, min(MAX_RETRY_AFTER_SECONDS, error.retry_after or 0.0))) from error
        if self._retries_left == 0:
            raise error
        pause = _backoff(attempt, error.retry_after)
        if pause + MIN_CALL_SECONDS > deadline.remaining():
            raise DeadlineReached(pause) from error
        self._retries_left -= 1
        return pause

    async def _call_model(self, request: ModelRequest) -> AsyncGenerator[str | ModelResponse]:
        """One attempt: chunks of text, then the response. Raises ModelUnavailable when the timeout has passed."""
        model = self._model
        chunks = (
            model.stream(request)
            if self.streams and isinstance(model, SupportsStreaming)
            else _generate(model, request)
        )
        end = asyncio.get_running_loop().time() + request.timeout + TIMEOUT_MARGIN_SECONDS
        async with contextlib.aclosing(chunks):
            while True:
                try:
                    async with asyncio.timeout_at(end):  # not around the yield: it would limit the reader's time
                        chunk = await anext(chunks, None)
                except TimeoutError:
                    text = f"{model.name} did not answer within {request.timeout:.0f} s"
                    raise ModelUnavailable(text) from None
                if chunk is None:
                    raise ModelUnavailable(f"{model.name} ended its stream without a reply")
                yield chunk
                if isinstance(chunk, ModelResponse):
                    return


async def _generate(model: Model, request: ModelRequest) -> AsyncGenerator[str | ModelResponse]:
    yield await model.generate(request)


def common_prefix_length(first: str, second: str) -> int:
    """How many characters the two texts have in common at their start."""
    pairs = zip(first, second, strict=False)
    return next((index for index, (a, b) in enumerate(pairs) if a != b), min(len(first), len(second)))


class _StreamedText:
    """The text of one turn that was yielded so far. A stream that is retried does not yield the same text again."""

    def __init__(self, step: int) -> None:
        self._step = step
        self._sent = ""
        self._current = ""

    def restart(self) -> None:
        self._current = ""

    def append(self, chunk: str) -> list[TextDelta]:
        self._current += replace_surrogates(chunk)
        if self._sent.startswith(self._current):
            return []
        offset = common_prefix_length(self._sent, self._current)
        self._sent = self._current
        return [TextDelta(self._step, self._current[offset:], offset)]

    def finish(self, response: ModelResponse) -> list[LoopEvent | ModelResponse]:
        """The response. If a broken stream had sent more text than this one, an event takes the excess back."""
        has_excess = len(self._sent) > len(self._current)
        return [*([TextDelta(self._step, "", len(self._current))] if has_excess else []), response]


def _backoff(attempt: int, retry_after: float | None) -> float:
    """Exponential backoff with jitter, so that tasks do not retry all at once. `retry_after` takes precedence."""
    jitter = random.uniform(0.75, 1.25)  # noqa: S311 - not for secrets
    if retry_after is not None:
        return max(0.0, min(MAX_RETRY_AFTER_SECONDS, retry_after)) + (jitter - 0.75)
    return min(MAX_BACKOFF_SECONDS, INITIAL_BACKOFF_SECONDS * 2.0 ** min(attempt, 10)) * jitter
