"""How long a run may work."""

from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentfn import Deadline
from agentfn.testing import LocalLambdaContext


@dataclass
class Watch:
    now: float = 1000.0

    def __call__(self) -> float:
        return self.now


class Invocation(LocalLambdaContext):
    def __init__(self, millis: int) -> None:
        super().__init__()
        self.millis = millis

    def get_remaining_time_in_millis(self) -> int:
        return self.millis


def test_time_runs_down_to_nothing_and_not_below() -> None:
    watch = Watch()
    deadline = Deadline.after(10, watch)
    assert (deadline.remaining(), deadline.passed) == (10, False)
    watch.now += 4
    assert deadline.remaining() == 6
    watch.now += 6
    assert (deadline.remaining(), deadline.passed) == (0, True)
    watch.now += 1000
    assert (deadline.remaining(), deadline.passed) == (0, True)


@pytest.mark.parametrize(
    ("millis", "reserve", "cap", "left"),
    [
        (900_000, 2, None, 898),
        (900_000, 2, 29, 27),  # the front door answers 504 whatever Lambda has
        (10_000, 2, 29, 8),
        (1_000, 2, None, 0),
        (900_000, 2, 1, 0),
        (0, 0, None, 0),
        (-5_000, 2, None, 0),
        (1_500, 0.5, None, 1),
    ],
)
def test_an_invocation_works_until_its_reserve_or_its_callers_patience(
    millis: int, reserve: float, cap: float | None, left: float
) -> None:
    deadline = Deadline.from_lambda_context(Invocation(millis), reserve_seconds=reserve, max_seconds=cap, clock=Watch())
    assert deadline.remaining() == left


def test_what_takes_longer_than_is_left_is_clipped() -> None:
    watch = Watch()
    deadline = Deadline.after(10, watch)
    assert (deadline.limit(3), deadline.limit(30)) == (3, 10)
    watch.now += 60
    assert deadline.limit(3) == 0


@given(st.integers(-(10**7), 10**7), st.floats(0, 1000), st.none() | st.floats(0, 1000), st.floats(0, 10**6))
def test_a_deadline_never_lies_beyond_the_invocation(
    millis: int, reserve: float, cap: float | None, passed: float
) -> None:
    watch = Watch(0.0)
    deadline = Deadline.from_lambda_context(Invocation(millis), reserve_seconds=reserve, max_seconds=cap, clock=watch)
    assert 0 <= deadline.remaining() <= max(0, millis / 1000)
    watch.now += passed
    assert 0 <= deadline.limit(5) <= 5
    assert deadline.passed == (deadline.remaining() == 0)
