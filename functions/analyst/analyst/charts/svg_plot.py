"""Draws marks as SVG with pygal, in readable sizes and colours for colour-blind readers."""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from analyst.charts.safe_svg import sanitize_svg, strip_control_chars
from analyst.charts.scales import format_tick

# Okabe and Ito's palette, its yellow darkened and its black greyed, in order of contrast to each other.
COLOURS = ("#0072b2", "#e69f00", "#009e73", "#d55e00", "#cc79a7", "#56b4e9", "#8a7a00", "#6b7280")
WIDTH, HEIGHT = 760, 460
FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif"
INK, SOFT, LINE = "#1f2933", "#52606d", "#d9dee3"
# The width inside the axes, and the width of a letter of a label.
LABEL_ROOM, LETTER_WIDTH = 640, 7.5


@dataclass(frozen=True)
class Axis:
    title: str
    marks: tuple[float, ...]
    text: Callable[[float], str]


@dataclass(frozen=True)
class Plot:
    title: str
    x: Axis
    y: Axis


def draw_bars(
    plot: Plot, categories: Sequence[str], series: Mapping[str, Sequence[float | None]], *, lines: bool
) -> bytes:
    """Draws one group of bars, or one point on the lines, per category. None leaves a gap."""
    import pygal

    names = [strip_control_chars(name) for name in categories]
    heights = [format_tick(height) for column in series.values() for height in column if height is not None]
    room = LABEL_ROOM / (len(names) * (1 if lines else len(series)))
    turn = _label_rotation(max(map(len, names)) * LETTER_WIDTH, LABEL_ROOM / len(names))
    chart = (pygal.Line if lines else pygal.Bar)(
        x_labels=names,
        print_values=not lines and max(map(len, heights)) * LETTER_WIDTH <= room,
        print_values_position="top",
        x_label_rotation=turn,
        margin_right=40,
        truncate_label=28,
        allow_interruptions=True,
        dots_size=3.5,
        **_common_config(plot, series, height=HEIGHT + (turn == 90) * 100),
    )
    for name, column in series.items():
        chart.add(
            _legend_label(name),
            [_bar_label(height, [category, name]) for category, height in zip(names, column, strict=True)],
        )
    return _render(chart, plot, [names, list(series.items())])


def draw_points(plot: Plot, series: Mapping[str, Sequence[tuple[float, float]]], *, lines: bool) -> bytes:
    import pygal

    low, high = _value_range([x for pairs in series.values() for x, _ in pairs], plot.x.marks)
    chart = pygal.XY(
        x_labels=list(plot.x.marks),
        xrange=(low, high),
        x_value_formatter=plot.x.text,
        stroke=lines,
        dots_size=3 if lines else 3.5,
        show_dots=not lines or max(map(len, series.values())) <= 60,
        **_common_config(plot, series, opacity=".9" if lines else ".65"),
    )
    for name, pairs in series.items():
        marks = [{"value": (x, y), "tooltip": _tooltip([name, plot.x.text(x)], y)} for x, y in pairs]
        chart.add(_legend_label(name), marks)
    return _render(chart, plot, list(series.items()))


def draw_histogram(plot: Plot, edges: Sequence[float], counts: Mapping[str, Sequence[int]]) -> bytes:
    """Draws bars over their bins. Several series overlap and are transparent."""
    import pygal

    chart = pygal.Histogram(
        x_labels=list(plot.x.marks),
        x_value_formatter=plot.x.text,
        **_common_config(plot, counts, opacity=".9" if len(counts) == 1 else ".55"),
    )
    for name, column in counts.items():
        bars = zip(column, edges, edges[1:], strict=False)
        marks = [
            {
                "value": (count, low, high),
                "tooltip": _tooltip([name, f"{format_tick(low)} to {format_tick(high)}"], count),
            }
            for count, low, high in bars
        ]
        chart.add(_legend_label(name), marks)
    return _render(chart, plot, [list(edges), list(counts.items())])


def _label_rotation(length: float, room: float) -> int:
    """The rotation in degrees that keeps labels of that length from overlapping."""
    return 0 if length <= room else 35 if room > 28 else 90


def _bar_label(height: float | None, names: Sequence[str]) -> dict[str, Any] | None:
    return None if height is None else {"value": height, "tooltip": _tooltip(names, height)}


def _tooltip(names: Sequence[str], value: float) -> str:
    """The tooltip of a mark."""
    return f"{strip_control_chars(', '.join(filter(None, names)))}: {format_tick(value)}"


def _legend_label(name: str) -> str:
    return strip_control_chars(name)[:40]


def _value_range(values: Sequence[float], marks: Sequence[float]) -> tuple[float, float]:
    """The value range with a margin on both sides, so that no point is on the frame."""
    low, high = min(*values, *marks), max(*values, *marks)
    room = (high - low) * 0.02 or 0.5
    return low - room, high + room


def _common_config(plot: Plot, series: Mapping[str, Any], opacity: str = ".9", height: int = HEIGHT) -> dict[str, Any]:
    many = len(series) > 1 or "" not in series
    return {
        "width": WIDTH,
        "height": height,
        "explicit_size": True,
        "disable_xml_declaration": True,
        "js": (),
        "title": strip_control_chars(plot.title) or None,
        "x_title": strip_control_chars(plot.x.title),
        "y_title": strip_control_chars(plot.y.title),
        "y_labels": list(plot.y.marks),
        "value_formatter": plot.y.text,
        "show_legend": many,
        "legend_at_bottom": True,
        "legend_at_bottom_columns": min(len(series), 4),
        "truncate_legend": 24,
        "style": _style(opacity),
    }


def _style(opacity: str) -> Any:
    from pygal.style import Style

    return Style(
        background="#ffffff",
        plot_background="#ffffff",
        foreground=SOFT,
        foreground_strong=INK,
        foreground_subtle=LINE,
        guide_stroke_color=LINE,
        major_guide_stroke_color=LINE,
        guide_stroke_dasharray="0",
        major_guide_stroke_dasharray="0",
        font_family=FONT,
        title_font_size=17,
        label_font_size=14,
        major_label_font_size=14,
        legend_font_size=14,
        value_font_size=26,  # so that values stand clear of their bars; _details sets their real size
        colors=COLOURS,
        opacity=opacity,
        dot_opacity=opacity,
        opacity_hover="1",
        stroke_width="2",
        transition="0s",
    )


def _add_details(scope: str) -> str:
    """CSS that pygal's style has no options for."""
    return f"""{scope} .title {{ font-size: 14px; fill: {SOFT}; }}
{scope} .plot_title {{ font-size: 17px; font-weight: 600; fill: {INK}; }}
{scope} .axis text, {scope} .axis text.major {{ fill: {SOFT}; }}
{scope} .text-overlay text.value {{ font-size: 13px; fill: {INK}; }}"""


def _render(chart: Any, plot: Plot, content: object) -> bytes:
    """Renders the chart with an id made of its content: pygal's own id is random."""
    digest = hashlib.sha256(repr((plot.title, plot.x.title, plot.y.title, content)).encode()).hexdigest()
    chart.uuid = digest[:12]
    chart.css = ["file://style.css", "file://graph.css", f"inline:{_add_details(f'#chart-{chart.uuid}')}"]
    return sanitize_svg(chart.render())
