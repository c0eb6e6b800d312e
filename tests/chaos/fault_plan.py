"""The fault plan: which fault hits which invocation. It depends on the seed and names only, so a run is repeatable."""

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

FaultKind = Literal["kill", "freeze", "throttle", "conflict", "fail", "part", "lose", "lose and fail"]

WRITE_CALLS = ("TransactWriteItems", "SendMessage", "PutObject")
AWS_CALLS = (*WRITE_CALLS, "ChangeMessageVisibility", "GetItem", "Query")
INJECTION_POINTS = tuple(f"{side} {what}" for what in (*AWS_CALLS, "effect", "answer") for side in ("before", "after"))
FAULT_WEIGHTS: dict[FaultKind, int] = {  # in percent
    "kill": 52,
    "freeze": 10,
    "throttle": 12,
    "conflict": 4,
    "fail": 3,
    "part": 3,
    "lose": 10,
    "lose and fail": 6,
}
TIMED_FAULT_SHARE = 0.25  # share of kills and freezes at a random moment; the others happen at a named point
CLOCK_SKEWS = (0.0, 0.0, 0.0, 0.0, -1.0, -0.4, -0.1, 0.1, 0.4, 1.0)  # clock errors as shares of the maximum


@dataclass(frozen=True)
class Fault:
    """A fault in one invocation: the `count`th time it reaches `point`, or without a point after `after_seconds`.

    At an "after" point the AWS call has been performed, at a "before" point it has not. "fail" refuses a call and its
    retries; "part" lets none of them reach the service. "lose" performs the call and breaks the connection; "lose and
    fail" then refuses the retries.
    """

    kind: FaultKind
    point: str = ""
    count: int = 1
    after_seconds: float = 0.0

    def __str__(self) -> str:
        return f"{self.kind} {self.point or 'at a moment'}"


class FaultPlan:
    """Chooses faults by seed. `skew` is the maximum error of a process's clock in seconds."""

    def __init__(self, seed: int, skew: float) -> None:
        self._seed = seed
        self._skew = skew

    def random_for(self, *names: object) -> random.Random:
        """A random generator for these names, the same in each run with this seed."""
        return random.Random("/".join(map(str, (self._seed, *names))))

    def fault_for(self, often: float, *names: object) -> Fault | None:
        """A fault for one invocation or None. `often` is its probability."""
        rng = self.random_for("order", *names)
        return _random_fault(rng) if rng.random() < often else None

    def skew(self, number: int) -> float:
        return self._skew * self.random_for("skew", number).choice(CLOCK_SKEWS)


def _random_fault(rng: random.Random) -> Fault:
    kind: FaultKind = rng.choices(list(FAULT_WEIGHTS), list(FAULT_WEIGHTS.values()))[0]
    if kind in ("kill", "freeze"):
        if rng.random() < TIMED_FAULT_SHARE:
            return Fault(kind, after_seconds=rng.uniform(0.02, 2.0))
        return Fault(kind, _random_point(rng, INJECTION_POINTS), rng.choice((1, 1, 2, 3)))
    if kind == "conflict":
        return Fault(kind, "before TransactWriteItems", rng.randint(1, 4))
    return Fault(kind, f"before {_random_point(rng, AWS_CALLS)}", rng.choice((1, 1, 2, 3, 4)))


def _random_point(rng: random.Random, names: Sequence[str]) -> str:
    """A random point. Writes to the table are four times as likely as others."""
    return rng.choices(names, [4 if "Transact" in name else 1 for name in names])[0]
