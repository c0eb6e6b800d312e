"""How long this run may work."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

Clock = Callable[[], float]


def monotonic() -> float:
    """`time.monotonic`, as it is when it is called: a test may replace it."""
    return time.monotonic()


class LambdaContext(Protocol):
    """What agentfn uses of the context object that Lambda passes to a handler.

    Source: https://docs.aws.amazon.com/lambda/latest/dg/python-context.html
    """

    aws_request_id: str

    def get_remaining_time_in_millis(self) -> int: ...


@dataclass(frozen=True)
class Deadline:
    """A moment, in seconds of `clock`, after which nothing of this run may still be waited for."""

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
        """The deadline of a Lambda invocation.

        `reserve` seconds are kept back for saving and answering. `cap` is the front door's own limit in seconds,
        counted from now: API Gateway answers 504 after 29 s while the function runs on.
        """
        left = context.get_remaining_time_in_millis() / 1000
        if max_seconds is not None:
            left = min(left, max_seconds)
        return cls.after(max(0.0, left - reserve_seconds), clock)

    def remaining(self) -> float:
        """Seconds left; never negative."""
        return max(0.0, self.at - self.clock())

    def limit(self, seconds: float) -> float:
        """`seconds`, or what is left where that is less."""
        return min(seconds, self.remaining())

    @property
    def passed(self) -> bool:
        return self.remaining() <= 0
