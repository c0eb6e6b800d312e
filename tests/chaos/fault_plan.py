"""Which fault befalls whom. Everything is chosen by the seed and by names, so that a run can be repeated."""

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

Kind = Literal["kill", "freeze", "throttle", "conflict", "fail", "part", "lose", "lose and fail"]

WRITES = ("TransactWriteItems", "SendMessage", "PutObject")
CALLS = (*WRITES, "ChangeMessageVisibility", "GetItem", "Query")
POINTS = tuple(f"{side} {what}" for what in (*CALLS, "effect", "answer") for side in ("before", "after"))
KINDS: dict[Kind, int] = {  # how often, of a hundred
    "kill": 52,
    "freeze": 10,
    "throttle": 12,
    "conflict": 4,
    "fail": 3,
    "part": 3,
    "lose": 10,
    "lose and fail": 6,
}
AT_ANY_MOMENT = 0.25  # of the kills and freezes; the others come at a named point
SKEWS = (0.0, 0.0, 0.0, 0.0, -1.0, -0.4, -0.1, 0.1, 0.4, 1.0)  # how wrong a process's clock is, of the most


@dataclass(frozen=True)
class Order:
    """One fault, in one invocation: the `count`th time that it comes by `point`, or without one after `moment` seconds.

    Calls of AWS are performed at "after" and not at "before". "fail" refuses a call and each repetition of it; "part"
    lets none of them reach the service. "lose" performs the call and breaks the connection; "lose and fail" refuses
    its repetitions after that.
    """

    kind: Kind
    point: str = ""
    count: int = 1
    moment: float = 0.0

    def __str__(self) -> str:
        return f"{self.kind} {self.point or 'at a moment'}"


class Dice:
    """`skew` is the most, in seconds, that a process's clock may be wrong."""

    def __init__(self, seed: int, skew: float) -> None:
        self._seed = seed
        self._skew = skew

    def of(self, *names: object) -> random.Random:
        """Dice of one's own, the same in each run of this seed."""
        return random.Random("/".join(map(str, (self._seed, *names))))

    def order(self, often: float, *names: object) -> Order | None:
        """A fault for one invocation, or none; `often` is between 0 and 1."""
        dice = self.of("order", *names)
        return _order(dice) if dice.random() < often else None

    def skew(self, number: int) -> float:
        return self._skew * self.of("skew", number).choice(SKEWS)


def _order(dice: random.Random) -> Order:
    kind: Kind = dice.choices(list(KINDS), list(KINDS.values()))[0]
    if kind in ("kill", "freeze"):
        if dice.random() < AT_ANY_MOMENT:
            return Order(kind, moment=dice.uniform(0.02, 2.0))
        return Order(kind, _one(dice, POINTS), dice.choice((1, 1, 2, 3)))
    if kind == "conflict":
        return Order(kind, "before TransactWriteItems", dice.randint(1, 4))
    return Order(kind, f"before {_one(dice, CALLS)}", dice.choice((1, 1, 2, 3, 4)))


def _one(dice: random.Random, names: Sequence[str]) -> str:
    """Writes to the table most of all: what a task is hangs on them."""
    return dice.choices(names, [4 if "Transact" in name else 1 for name in names])[0]
