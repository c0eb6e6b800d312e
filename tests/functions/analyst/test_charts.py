"""Charts show what the rows say, are safe to put anywhere, and are the same each time."""

import re
import xml.etree.ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analyst.charts.chart import Chart, ChartError, DrawnChart, draw
from analyst.charts.scales import bin_edges, count_in_bins, date_ticks, parse_days, ticks
from analyst.formats.cells import Cell
from analyst.formats.table_reader import read_tables
from analyst.sql.query import QueryResult, run_query
from functions.analyst.tool_harness import AGENT

SVG = "{http://www.w3.org/2000/svg}"
PENGUINS = read_tables(AGENT / "data" / "penguins.csv")
COUNTS = QueryResult(("species", "n"), (("Adelie", 152), ("Gentoo", 124), ("Chinstrap", 68)))
CHARTS = {
    "bar": Chart("bar", "Counts", "species", "n"),
    "line": Chart("line", "Years", "year", "n", "species"),
    "scatter": Chart("scatter", "Bills", "bill_length_mm", "bill_depth_mm", "species"),
    "histogram": Chart("histogram", "Mass", "body_mass_g"),
}
QUERIES = {
    "bar": "SELECT species, COUNT(*) AS n FROM penguins GROUP BY 1",
    "line": "SELECT year, species, COUNT(*) AS n FROM penguins GROUP BY 1, 2",
    "scatter": "SELECT bill_length_mm, bill_depth_mm, species FROM penguins",
    "histogram": "SELECT body_mass_g FROM penguins",
}


def drawn(kind: str) -> DrawnChart:
    return draw(CHARTS[kind], run_query(PENGUINS, QUERIES[kind]))


def texts(drawing: DrawnChart) -> list[str]:
    """What can be read in the picture, hints of the mouse included."""
    return [element.text for element in ET.fromstring(drawing.svg).iter() if element.text]


def bars(drawing: DrawnChart) -> list[ET.Element]:
    boxes = ET.fromstring(drawing.svg).iter(f"{SVG}rect")
    return [box for box in boxes if "rect" in box.get("class", "").split()]


def refusal(chart: Chart, result: QueryResult) -> str:
    with pytest.raises(ChartError) as refused:
        draw(chart, result)
    return str(refused.value)


@pytest.mark.parametrize("kind", CHARTS)
def test_every_kind_is_a_picture_of_its_own_without_scripts_or_anything_from_outside(kind: str) -> None:
    svg = drawn(kind).svg.decode()
    root = ET.fromstring(svg)
    assert root.get("viewBox") == "0 0 760 460"
    assert (root.get("width"), root.get("height"), root.get("role")) == ("760", "460", "img")
    assert not {"script", "image", "foreignObject", "a"} & {element.tag.removeprefix(SVG) for element in root.iter()}
    assert not re.search(r"href|url\(|@import|<\?|<!|\bon\w+=|https?://(?!www\.w3\.org/2000/svg)", svg)


@pytest.mark.parametrize("kind", CHARTS)
def test_the_same_rows_give_the_same_bytes(kind: str) -> None:
    assert drawn(kind).svg == drawn(kind).svg


def test_bars_have_the_heights_of_their_values_and_say_them() -> None:
    drawing = draw(CHARTS["bar"], COUNTS)
    heights = [float(bar.get("height", "0")) for bar in bars(drawing)]
    assert heights[1] / heights[0] == pytest.approx(124 / 152, rel=0.01)
    assert heights[2] / heights[0] == pytest.approx(68 / 152, rel=0.01)
    assert {"Counts", "species", "n", "152", "124", "68", "Adelie: 152"} <= set(texts(drawing))


def test_a_grouped_chart_has_one_mark_per_row_and_a_legend() -> None:
    sql = "SELECT species, sex, AVG(body_mass_g) AS mean FROM penguins WHERE sex IS NOT NULL GROUP BY 1, 2"
    drawing = draw(Chart("bar", "Mean", "species", "mean", "sex"), run_query(PENGUINS, sql))
    assert (drawing.marks, len(bars(drawing))) == (6, 6)
    assert {"female", "male", "Gentoo, male: 5485"} <= set(texts(drawing))


def test_rows_with_a_missing_value_are_left_out_and_counted() -> None:
    assert drawn("scatter").marks == 342
    assert drawn("scatter").notes == ("2 row(s) with a missing value left out",)


def test_a_missing_series_has_a_name() -> None:
    result = run_query(PENGUINS, "SELECT sex, COUNT(*) AS n FROM penguins GROUP BY 1")
    assert "(missing)" in texts(draw(Chart("bar", "", "n", "n", "sex"), result))


def test_years_and_dates_are_ticks_that_people_know() -> None:
    assert {"2007", "2008", "2009"} <= set(texts(drawn("line")))
    days = tuple((f"2023-{month:02}-15", month) for month in range(1, 13))
    drawing = draw(Chart("line", "", "day", "n"), QueryResult(("day", "n"), days))
    assert {"2023-03", "2023-05"} <= set(texts(drawing))


def test_a_line_over_names_keeps_their_order() -> None:
    rows: tuple[tuple[Cell, ...], ...] = (("Q3", 1), ("Q1", 2), ("Q2", 3))
    shown = texts(draw(Chart("line", "", "q", "n"), QueryResult(("q", "n"), rows)))
    assert shown.index("Q3") < shown.index("Q1") < shown.index("Q2")


def test_a_histogram_counts_every_value_once() -> None:
    assert "8 bins of 500, 342 values" in drawn("histogram").notes
    counted = [re.search(r": (\d+)$", text) for text in texts(drawn("histogram")) if " to " in text]
    assert sum(int(match[1]) for match in counted if match) == 342


def test_many_categories_and_many_points_are_thinned_out_and_it_is_told() -> None:
    many = QueryResult(("c", "v"), tuple((f"category {i}", i) for i in range(100)))
    assert draw(Chart("bar", "", "c", "v"), many).notes == ("only the first 40 of 100 values of c",)
    points = QueryResult(("x", "y"), tuple((i, i % 7) for i in range(10_000)))
    drawing = draw(Chart("scatter", "", "x", "y"), points)
    assert (drawing.marks, drawing.notes) == (2000, ("one in 5 of 10,000 points, evenly chosen",))
    assert draw(CHARTS["bar"], QueryResult(COUNTS.columns, COUNTS.rows, complete=False)).notes == (
        "only the first 3 rows of the query",
    )


def test_the_users_text_is_text_whatever_it_holds() -> None:
    evil = '</text><script>alert("1")</script>&amp; \x00\x08é'
    result = QueryResult(("k", "v"), ((evil, 1), ("b", 2)))
    for chart in (Chart("bar", evil, "k", "v"), Chart("bar", "t", "k", "v", "k")):
        root = ET.fromstring(draw(chart, result).svg)
        assert not list(root.iter(f"{SVG}script"))
    assert '</text><script>alert("1")</script>&amp; é' in texts(draw(Chart("bar", evil, "k", "v"), result))


@pytest.mark.parametrize(
    ("chart", "result", "help_"),
    [
        (Chart("bar", "", "kind", "n"), COUNTS, "gives no column kind. It gives: species, n"),
        (Chart("bar", "", "species", "n", "sex"), COUNTS, "gives no column sex"),
        (Chart("bar", "", "species"), COUNTS, "needs a y column"),
        (Chart("bar", "", "n", "species"), COUNTS, "species must be a number to be drawn, but it holds 'Adelie'"),
        (Chart("histogram", "", "species"), COUNTS, "species must be a number"),
        (Chart("scatter", "", "species", "n"), COUNTS, "must hold numbers or dates on the x axis"),
        (Chart("bar", "", "species", "n"), QueryResult(("species", "n"), ()), "nothing to draw"),
        (Chart("bar", "", "species", "n"), QueryResult(("species", "n"), (("a", None),)), "nothing to draw"),
        (
            Chart("bar", "", "a", "n"),
            QueryResult(("a", "n"), (("x", 1), ("x", 2))),
            "several rows for a = x. Aggregate",
        ),
        (Chart("bar", "", "a", "n"), QueryResult(("a", "n"), (("x", float("inf")),)), "it holds 'inf'"),
        (Chart("scatter", "", "n", "n", "n"), QueryResult(("n",), tuple((i,) for i in range(9))), "n has 9 values"),
    ],
)
def test_a_chart_that_cannot_be_drawn_says_what_to_change(chart: Chart, result: QueryResult, help_: str) -> None:
    assert help_ in refusal(chart, result)


@pytest.mark.parametrize(
    "rows",
    [
        (("a", 0),),
        (("a", 0.0), ("b", 0.0)),
        (("a", -5), ("b", 3)),
        (("a", 1e-9), ("b", 2e-9)),
        (("a", 1e15), ("b", 2e15)),
        (("x" * 200, 1), ("y", 2)),
    ],
)
@pytest.mark.parametrize("kind", ["bar", "line"])
def test_odd_values_are_drawn(kind: str, rows: tuple[tuple[Cell, ...], ...]) -> None:
    chart = Chart("bar" if kind == "bar" else "line", "t", "k", "v")
    assert draw(chart, QueryResult(("k", "v"), rows)).marks == len(rows)


@pytest.mark.parametrize("kind", ["line", "scatter"])
@pytest.mark.parametrize("rows", [((1, 1),), ((0, 0), (0, 0.5)), ((-1e9, 5), (1e9, 5)), ((0.1, 0.3), (0.2, 0.1))])
def test_odd_points_are_drawn(kind: str, rows: tuple[tuple[Cell, ...], ...]) -> None:
    chart = Chart("line" if kind == "line" else "scatter", "t", "x", "y")
    assert draw(chart, QueryResult(("x", "y"), rows)).marks == len(rows)


FINITE = st.floats(-1e12, 1e12, allow_subnormal=False)


@given(low=FINITE, high=FINITE)
def test_ticks_hold_everything_between_them(low: float, high: float) -> None:
    low, high = sorted((low, high))
    marks = ticks(low, high)
    slack = 1e-9 * max(abs(low), abs(high), 1)
    assert marks == sorted(marks)
    assert marks[0] <= low + slack
    assert marks[-1] >= high - slack
    assert len(marks) <= 14


@given(values=st.lists(st.one_of(st.integers(-1000, 1000), st.floats(-1e6, 1e6)), min_size=1, max_size=200))
def test_bins_hold_every_value_once(values: list[float]) -> None:
    edges = bin_edges(values)
    counts = count_in_bins(values, edges)
    assert sum(counts) == len(values)
    assert len(counts) <= 90
    assert edges[0] <= min(values)
    assert edges[-1] >= max(values)


def test_ticks_of_dates_fall_on_months_and_years() -> None:
    assert date_ticks(parse_days("2023-01-15"), parse_days("2023-12-20"))[:2] == [
        parse_days("2023-01-01"),
        parse_days("2023-03-01"),
    ]
    years = date_ticks(parse_days("1990-05-01"), parse_days("2020-05-01"))
    assert all(year == parse_days(f"{1992 + 4 * i}-01-01") for i, year in enumerate(years))
