"""The deadline of an invocation."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

Clock = Callable[[], float]


def monotonic() -> float:
    """`time.monotonic`, as it is when it is called: a test may replace it."""
    return time.monotonic()


class LambdaContext(Protocol):
    """The part of Lambda's context object that agentfn uses.

    Source: https://docs.aws.amazon.com/lambda/latest/dg/python-context.html
    """

    aws_request_id: str

    def get_remaining_time_in_millis(self) -> int: ...


@dataclass(frozen=True)
class Deadline:
    """A point in time, in seconds of `clock`, after which a run waits for nothing any more."""

    at: float
    clock: Clock = monotonic

    @classmethod
    def after(cls, seconds: float, clock: Clock = monotonic) -> "Deadline":
        return cls(clock() + seconds, clock)

    @classmethod
    def from_lambda_context(
        cls,
        context: LambdaContext,
        *,
        reserve_seconds: float,
        max_seconds: float | None = None,
        clock: Clock = monotonic,
    ) -> "Deadline":
        """The end of the Lambda invocation, less `reserve_seconds` for saving and answering.

        `max_seconds` is the limit of the caller's side, from now: API Gateway answers 504 after 29 s.
        """
        remaining = context.get_remaining_time_in_millis() / 1000
        if max_seconds is not None:
            remaining = min(remaining, max_seconds)
        return cls.after(max(0.0, remaining - reserve_seconds), clock)

    def remaining(self) -> float:
        """Seconds until the deadline; never negative."""
        return max(0.0, self.at - self.clock())

    def limit(self, seconds: float) -> float:
        """The smaller of `seconds` and the seconds that remain."""
        return min(seconds, self.remaining())

    @property
    def passed(self) -> bool:
        return self.remaining() <= 0
