"""Charts of a query's result: maps rows to marks. `svg_plot` draws them."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from analyst.charts.scales import bin_edges, count_in_bins, date_ticks, format_days, format_tick, parse_days, ticks
from analyst.charts.svg_plot import Axis, Plot, draw_bars, draw_histogram, draw_points
from analyst.formats.cells import Cell
from analyst.formatting import format_value
from analyst.sql.query import QueryResult

Kind = Literal["bar", "line", "scatter", "histogram"]
MAX_SERIES = 8
MAX_CATEGORIES = 40
MAX_POINTS = 2_000
ALL_SERIES = ""


class ChartError(Exception):
    """A chart cannot be drawn from this result. The text says what to change."""


@dataclass(frozen=True)
class Chart:
    """A chart to draw. `x`, `y` and `series` name columns of the result; `series` splits the marks by colour."""

    kind: Kind
    title: str
    x: str
    y: str | None = None
    series: str | None = None


@dataclass(frozen=True)
class DrawnChart:
    """A drawn chart. `notes` say which part of the result is not in it."""

    svg: bytes
    marks: int
    notes: tuple[str, ...]


@dataclass(frozen=True)
class Point:
    x: Cell
    y: Cell
    series: str


def draw(chart: Chart, result: QueryResult) -> DrawnChart:
    """Draws the chart as a standalone SVG, the same for the same input. Raises ChartError."""
    points, notes = _make_points(chart, result)
    groups: dict[str, list[Point]] = {}
    for point in points:
        groups.setdefault(point.series, []).append(point)
    if len(groups) > MAX_SERIES:
        raise ChartError(
            f"{chart.series} has {len(groups)} values; more than {MAX_SERIES} colours cannot be told apart. "
            "Choose fewer in the SQL, or leave series out."
        )
    if chart.kind == "histogram":
        return _draw_histogram(chart, groups, notes)
    if chart.kind == "bar" or (chart.kind == "line" and not _are_numbers(points)):
        return _draw_bars(chart, groups, notes)
    return _draw_positions(chart, groups, notes)


def _make_points(chart: Chart, result: QueryResult) -> tuple[list[Point], list[str]]:
    """The rows as points, and a note on the rows that are left out for missing values."""
    if chart.kind != "histogram" and chart.y is None:
        raise ChartError(f"A {chart.kind} chart needs a y column. The query gives: {', '.join(result.columns)}.")
    x = _column_index(result, chart.x)
    y = x if chart.y is None or chart.kind == "histogram" else _column_index(result, chart.y)
    series = None if chart.series is None else _column_index(result, chart.series)
    points = [
        Point(row[x], row[y], ALL_SERIES if series is None else _category_name(row[series]))
        for row in result.rows
        if row[x] is not None and row[y] is not None
    ]
    if not points:
        raise ChartError("There is nothing to draw: the query gives no row in which both x and y have a value.")
    _check_numbers(points, chart.y or chart.x)
    left_out = len(result.rows) - len(points)
    notes = [f"{left_out:,} row(s) with a missing value left out"] if left_out else []
    return points, notes if result.complete else [*notes, f"only the first {len(result.rows):,} rows of the query"]


def _column_index(result: QueryResult, column: str) -> int:
    names = [name.casefold() for name in result.columns]
    if column.casefold() not in names:
        raise ChartError(f"The query gives no column {column}. It gives: {', '.join(result.columns)}.")
    return names.index(column.casefold())


def _check_numbers(points: Sequence[Point], column: str) -> None:
    wrong = next((p.y for p in points if not isinstance(p.y, int | float) or not math.isfinite(p.y)), None)
    if wrong is not None:
        raise ChartError(f"{column} must be a number to be drawn, but it holds {format_value(wrong)[:40]!r}.")


def _category_name(value: Cell) -> str:
    return "(missing)" if value is None else format_value(value) or "(empty)"


def _to_number(value: Cell) -> float:
    return float(value) if isinstance(value, int | float) else parse_days(str(value))


def _are_numbers(points: Sequence[Point]) -> bool:
    """Whether all x values are numbers or all are dates."""
    try:
        kinds = {isinstance(point.x, str) for point in points if _to_number(point.x) is not None}
    except ValueError:
        return False
    return len(kinds) == 1


def _draw_bars(chart: Chart, groups: dict[str, list[Point]], notes: list[str]) -> DrawnChart:
    """Draws bars, or a line over names. The categories keep the order of the query."""
    categories = list(dict.fromkeys(_category_name(point.x) for points in groups.values() for point in points))
    values = {name: _draw_categories(chart, points) for name, points in groups.items()}
    if len(categories) > MAX_CATEGORIES:
        notes = [*notes, f"only the first {MAX_CATEGORIES} of {len(categories):,} values of {chart.x}"]
    visible = categories[:MAX_CATEGORIES]
    series = {name: [of.get(category) for category in visible] for name, of in values.items()}
    heights = [height for column in series.values() for height in column if height is not None]
    low, high = min(0.0, *heights), max(0.0, *heights)
    if chart.kind == "line":
        low, high = min(heights), max(heights)
    plot = Plot(
        chart.title, _make_axis(chart.x, []), _make_axis(chart.y, ticks(low, high, whole=_are_integers(heights)))
    )
    svg = draw_bars(plot, visible, series, lines=chart.kind == "line")
    return DrawnChart(svg, len(heights), tuple(notes))


def _draw_categories(chart: Chart, points: Sequence[Point]) -> dict[str, float]:
    values: dict[str, float] = {}
    for point in points:
        name = _category_name(point.x)
        if name in values:
            of = f" in {point.series}" if point.series else ""
            raise ChartError(
                f"There are several rows for {chart.x} = {name[:40]}{of}. Aggregate in the SQL (GROUP BY), "
                "or name the column that tells them apart as series."
            )
        values[name] = _to_number(point.y)
    return values


def _draw_positions(chart: Chart, groups: dict[str, list[Point]], notes: list[str]) -> DrawnChart:
    """Draws points or lines with both axes numeric."""
    everything = [point for points in groups.values() for point in points]
    if not _are_numbers(everything):
        raise ChartError(f"{chart.x} must hold numbers or dates on the x axis of a scatter chart.")
    dates = isinstance(everything[0].x, str)
    every = -(-len(everything) // MAX_POINTS)
    if every > 1:
        notes = [*notes, f"one in {every} of {len(everything):,} points, evenly chosen"]
    series = {}
    for name, points in groups.items():
        pairs = [(_to_number(point.x), _to_number(point.y)) for point in points]
        series[name] = (sorted(pairs) if chart.kind == "line" else pairs)[::every]
    xs = [x for pairs in series.values() for x, _ in pairs]
    ys = [y for pairs in series.values() for _, y in pairs]
    x_axis = _make_date_axis(chart.x, xs) if dates else _make_axis(chart.x, _x_ticks(xs))
    plot = Plot(chart.title, x_axis, _make_axis(chart.y, ticks(min(ys), max(ys))))
    return DrawnChart(draw_points(plot, series, lines=chart.kind == "line"), len(xs), tuple(notes))


def _x_ticks(xs: Sequence[float]) -> list[float]:
    """The ticks of the x axis. A few integers, such as years, are ticks themselves."""
    different = sorted(set(xs))
    distinct = len(different) <= 10 and _are_integers(different)
    return different if distinct else ticks(min(xs), max(xs), 8, whole=_are_integers(different))


def _are_integers(values: Sequence[float]) -> bool:
    return all(value == int(value) for value in values)


def _draw_histogram(chart: Chart, groups: dict[str, list[Point]], notes: list[str]) -> DrawnChart:
    values = {name: [_to_number(point.y) for point in points] for name, points in groups.items()}
    edges = bin_edges([value for column in values.values() for value in column])
    counts = {name: count_in_bins(column, edges) for name, column in values.items()}
    top = max(count for column in counts.values() for count in column)
    every = -(-len(edges) // 12)
    plot = Plot(chart.title, _make_axis(chart.x, edges[::every]), _make_axis("count", ticks(0, top, whole=True)))
    total = sum(map(len, values.values()))
    notes = [*notes, f"{len(edges) - 1} bins of {format_tick(edges[1] - edges[0])}, {total:,} values"]
    return DrawnChart(draw_histogram(plot, edges, counts), total, tuple(notes))


def _make_axis(name: str | None, marks: Sequence[float]) -> Axis:
    return Axis((name or "").replace("_", " "), tuple(marks), format_tick)


def _make_date_axis(name: str, xs: Sequence[float]) -> Axis:
    low, high = min(xs), max(xs)
    return Axis(name.replace("_", " "), tuple(date_ticks(low, high)), lambda days: format_days(days, high - low))
