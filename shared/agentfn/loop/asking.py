"""Asking the model, and the one owner of retries."""

import asyncio
import dataclasses
import random
from collections.abc import Callable
from dataclasses import dataclass

from agentfn.deadline import Deadline
from agentfn.errors import ModelUnavailable
from agentfn.models import Model, Prompt, Reply

FIRST_PAUSE = 0.5
LONGEST_PAUSE = 20.0
SHORTEST_CALL = 1.0  # seconds; a model call with less time than this is not started


class OutOfTime(Exception):  # noqa: N818 - a signal inside the loop, not an error
    """This run cannot go on before its deadline; the next one should start in `resume_in` seconds."""

    def __init__(self, resume_in: float = 0.0) -> None:
        super().__init__()
        self.resume_in = resume_in


@dataclass(frozen=True)
class Patience:
    """`seconds` is the longest that one call may take, `retries` how often a transient failure is tried again."""

    seconds: float = 180.0
    retries: int = 4


async def ask(
    model: Model, prompt: Prompt, deadline: Deadline, patience: Patience, notice: Callable[[str], None]
) -> Reply:
    """The model's reply. Raises OutOfTime where the deadline comes first, ModelError where the model is at fault."""
    for attempt in range(patience.retries + 1):
        if deadline.left() < SHORTEST_CALL:
            raise OutOfTime
        seconds = deadline.clip(patience.seconds)
        try:
            return await _once(model, dataclasses.replace(prompt, timeout=seconds))
        except ModelUnavailable as error:
            if deadline.left() < SHORTEST_CALL:
                raise OutOfTime(max(0.0, error.retry_after or 0.0)) from error
            if attempt == patience.retries:
                raise
            pause = _pause(attempt, error.retry_after)
            if pause + SHORTEST_CALL > deadline.left():
                raise OutOfTime(pause) from error
            notice(f"{error}; asking again in {pause:.1f} s")
            await asyncio.sleep(pause)
    raise AssertionError("unreachable")


async def _once(model: Model, prompt: Prompt) -> Reply:
    """A door keeps its own timeout; this one is for a door that does not."""
    try:
        async with asyncio.timeout(prompt.timeout + 0.25):
            return await model.ask(prompt)
    except TimeoutError:
        raise ModelUnavailable(f"{model.name} did not answer within {prompt.timeout:.0f} s") from None


def _pause(attempt: int, retry_after: float | None) -> float:
    """Exponential, with jitter so that many tasks do not come back at once; the provider's own word goes first."""
    jitter = random.uniform(0.75, 1.25)  # noqa: S311 - not for secrets
    if retry_after is not None:
        return max(0.0, retry_after) + (jitter - 0.75)
    return min(LONGEST_PAUSE, FIRST_PAUSE * 2.0**attempt) * jitter
