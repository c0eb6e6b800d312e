"""Ticks of an axis and bins of a histogram, at round values."""

import math
import statistics
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MAX_BINS = 40


def ticks(low: float, high: float, count: int = 6, *, whole: bool = False) -> list[float]:
    """About `count` round values that cover `low` to `high`; with `whole`, integers only."""
    step = _nice_step((high - low) / count)
    step = max(1.0, float(math.ceil(step))) if whole else step
    first, last = math.floor(low / step), math.ceil(high / step)
    return [_round_to_step(i * step, step) for i in range(first, last + 1)]


def _nice_step(raw: float) -> float:
    if raw <= 0 or not math.isfinite(raw):
        return 1.0
    size = 10.0 ** math.floor(math.log10(raw))
    return float(next(factor * size for factor in (1, 2, 2.5, 5, 10) if factor * size >= raw * 0.999))


def _round_to_step(value: float, step: float) -> float:
    """Removes floating-point noise: 0.30000000000000004 becomes 0.3."""
    return round(value, max(0, 2 - math.floor(math.log10(step))))


def parse_days(text: str) -> float:
    """An ISO date or date-time as days since 1970; without an offset it counts as UTC."""
    parsed = datetime.fromisoformat(text)
    return ((parsed if parsed.tzinfo else parsed.replace(tzinfo=UTC)) - EPOCH) / timedelta(days=1)


def format_days(days: float, span: float) -> str:
    """The time in the precision that a span of so many days needs."""
    shape = "%Y" if span > 3 * 365 else "%Y-%m" if span > 120 else "%Y-%m-%d" if span > 2 else "%m-%d %H:%M"
    return (EPOCH + timedelta(days=days)).strftime(shape)


def date_ticks(low: float, high: float) -> list[float]:
    """Ticks at the starts of years or months if there are enough, else at even steps."""
    span = high - low
    if span <= 120:
        return [low + span * i / 5 for i in range(6)] if span else [low]
    months = 12 * math.ceil(span / 365 / 8) if span > 3 * 365 else math.ceil(span / 30.4 / 8)
    first, last = EPOCH + timedelta(days=low), EPOCH + timedelta(days=high)
    start = -(-(first.year * 12 + first.month - 1) // months) * months
    starts = range(start, last.year * 12 + last.month, months)
    return [parse_days(f"{month // 12:04}-{month % 12 + 1:02}-01") for month in starts]


def bin_edges(values: Sequence[float]) -> list[float]:
    """The edges of equal bins by the Freedman-Diaconis rule, or by Sturges' rule if the quartiles are equal."""
    low, high = min(values), max(values)
    if low == high:
        return [low - 0.5, high + 0.5]
    quarters = statistics.quantiles(values, n=4) if len(values) > 1 else [low, low, high]
    width = 2 * (quarters[2] - quarters[0]) / len(values) ** (1 / 3)
    count = (high - low) / width if width else math.log2(len(values)) + 1
    step = _nice_step((high - low) / min(max(count, 4), MAX_BINS))
    whole = all(value == int(value) for value in values)
    step = max(step, 1.0) if whole else step
    first, last = math.floor(low / step), math.floor(high / step) + 1
    first -= first * step > low  # the step is too small to be divided
    return [_round_to_step(i * step, step) for i in range(first, last + 1)]


def count_in_bins(values: Sequence[float], edges: Sequence[float]) -> list[int]:
    """The number of values in each bin. A value on an edge counts to the right, on the last edge to the left."""
    counts = [0] * (len(edges) - 1)
    width = edges[1] - edges[0]
    for value in values:
        index = min(max(int((value - edges[0]) / width), 0), len(counts) - 1)
        if value >= edges[index + 1] and index + 1 < len(counts):
            index += 1
        elif value < edges[index] and index:
            index -= 1
        counts[index] += 1
    return counts


def format_tick(value: float) -> str:
    """A number as an axis label. Four-digit numbers such as years have no thousands separator."""
    if abs(value) >= 1e15:
        return f"{value:.4g}"
    if abs(value) >= 1000 or value == int(value):
        whole = round(value)
        return f"{whole:,}" if abs(whole) >= 10_000 else str(whole)
    return f"{value:.4g}"
