"""The statistics that SQLite lacks: median, quantile, standard deviation, variance, correlation.

Missing values are ignored, as in SQL's own aggregates. Text is an error and never counts as zero.
"""

import math
import sqlite3
import statistics
from array import array
from typing import Any

# A median keeps its values in memory, so an endless query needs a limit.
MAX_VALUES = 5_000_000


class _ValueCollector:
    """Collects the numbers of a group."""

    def __init__(self) -> None:
        self.values = array("d")

    def add(self, value: object) -> None:
        if value is None:
            return
        if not isinstance(value, int | float):
            raise TypeError("not a number")
        if len(self.values) >= MAX_VALUES:
            raise MemoryError
        self.values.append(value)


class Median(_ValueCollector):
    def step(self, value: object) -> None:
        self.add(value)

    def finalize(self) -> float | None:
        return statistics.median(self.values) if self.values else None


class Quantile(_ValueCollector):
    """Quantile with linear interpolation between the two nearest values, like numpy."""

    at = 0.5

    def step(self, value: object, at: float) -> None:
        if not 0 <= at <= 1:
            raise ValueError("a quantile lies between 0 and 1")
        self.at = at
        self.add(value)

    def finalize(self) -> float | None:
        if not self.values:
            return None
        ordered = sorted(self.values)
        place = self.at * (len(ordered) - 1)
        low, high = ordered[math.floor(place)], ordered[math.ceil(place)]
        return low + (high - low) * (place - math.floor(place))


class Percentile(Quantile):
    def step(self, value: object, at: float) -> None:
        super().step(value, at / 100)


class Variance:
    """Sample variance (n - 1), in one pass by Welford's method."""

    def __init__(self) -> None:
        self.count, self.mean, self.squares = 0, 0.0, 0.0

    def step(self, value: float | None) -> None:
        if value is None:
            return
        self.count += 1
        change = value - self.mean
        self.mean += change / self.count
        self.squares += change * (value - self.mean)

    def finalize(self) -> float | None:
        return self.squares / (self.count - 1) if self.count > 1 else None


class StandardDeviation(Variance):
    def finalize(self) -> float | None:
        variance = super().finalize()
        return None if variance is None else math.sqrt(variance)


class Correlation:
    """Pearson's correlation over the rows that have both values."""

    def __init__(self) -> None:
        self.x, self.y, self.products = Variance(), Variance(), 0.0

    def step(self, x: float | None, y: float | None) -> None:
        if x is None or y is None:
            return
        before = x - self.x.mean
        self.x.step(x)
        self.y.step(y)
        self.products += before * (y - self.y.mean)

    def finalize(self) -> float | None:
        spread = math.sqrt(self.x.squares * self.y.squares)
        return max(-1.0, min(1.0, self.products / spread)) if spread else None


AGGREGATE_NAMES = "median(x), quantile(x, 0 to 1), percentile(x, 0 to 100), stddev(x), variance(x), corr(x, y)"


# Name, also as other databases call it → number of arguments and implementation.
AGGREGATES: tuple[tuple[str, int, Any], ...] = (
    ("median", 1, Median),
    ("quantile", 2, Quantile),
    ("percentile", 2, Percentile),
    ("corr", 2, Correlation),
    *((name, 1, StandardDeviation) for name in ("stddev", "stdev", "stddev_samp")),
    *((name, 1, Variance) for name in ("variance", "var_samp")),
)


def add_aggregates(connection: sqlite3.Connection) -> None:
    for name, arguments, aggregate in AGGREGATES:
        connection.create_aggregate(name, arguments, aggregate)
