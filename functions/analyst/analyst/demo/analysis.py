"""Analyses that the demo model can compute: a query, its chart, and what the sentences about it need."""
# ruff: noqa: S608 - names come from the preview, where they are identifiers; and the queries can only read

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from analyst.demo.tool_results import Column, Table


@dataclass(frozen=True)
class ChartSpec:
    kind: Literal["bar", "line", "scatter", "histogram"]
    x: str
    y: str | None = None
    series: str | None = None
    sql: str = ""


@dataclass(frozen=True)
class Analysis:
    """One analysis. `groups` are the compared columns, `value` is the measured one, `label` names the statistic.

    `columns_with_missing` are those whose missing values exclude rows. `name` is the stem of its file names.
    """

    table: str
    kind: Literal["count", "compare", "spread", "relation", "trend"]
    title: str
    sql: str
    chart: ChartSpec
    groups: tuple[Column, ...] = ()
    value: Column | None = None
    label: str = ""
    columns_with_missing: tuple[Column, ...] = ()
    name: str = ""

    @property
    def missing_rows_sql(self) -> str:
        """A query for the number of excluded rows, '' if the preview shows that there are none."""
        absent = " OR ".join(f"{column.name} IS NULL" for column in self.columns_with_missing)
        return f"SELECT COUNT(*) AS left_out FROM {self.table} WHERE {absent}" if absent else ""


def count_analysis(table: Table, groups: Sequence[Column]) -> Analysis:
    """Counts rows per group. Missing values are a group too."""
    keys = [_group_expression(group) for group in groups]
    number = f"number_of_{table.noun}"
    share = ", ROUND(100.0 * COUNT(*) / SUM(COUNT(*)) OVER (), 1) AS percent"
    sql = (
        f"SELECT {', '.join(keys)}, COUNT(*) AS {number}{share} FROM {table.name} "
        f"GROUP BY {_group_positions(groups)} ORDER BY {'1' if groups[0].is_time else f'{number} DESC'}"
    )
    drawing = ChartSpec("bar", groups[0].name, number, groups[1].name if len(groups) > 1 else None)
    return Analysis(
        table.name, "count", f"Number of {table.noun} by {_join_phrases(groups)}", sql, drawing, tuple(groups)
    )


def comparison(table: Table, value: Column, groups: Sequence[Column], function: str, word: str) -> Analysis:
    """Compares a measure between the groups of one or two columns, without rows that have missing values."""
    result = f"{word}_{value.name}"
    names = ", ".join(group.name for group in groups)
    order = _group_positions(groups) if len(groups) > 1 or groups[0].is_time else f"{result} DESC"
    sql = (
        f"SELECT {names}, COUNT(*) AS n, ROUND({function}({value.name}), 2) AS {result} FROM {table.name} "
        f"WHERE {_not_null([value, *groups])} GROUP BY {_group_positions(groups)} ORDER BY {order}"
    )
    drawing = ChartSpec("bar", groups[0].name, result, groups[1].name if len(groups) > 1 else None)
    title = f"{word.capitalize()} {value.phrase} by {_join_phrases(groups)}"
    return Analysis(
        table.name, "compare", title, sql, drawing, tuple(groups), value, word, _columns_with_missing([value, *groups])
    )


def distribution(table: Table, value: Column, group: Column | None = None) -> Analysis:
    """The distribution of one measure."""
    of = value.name
    sql = (
        f"SELECT COUNT({of}) AS n, MIN({of}) AS lowest, ROUND(QUANTILE({of}, 0.25), 2) AS first_quartile, "
        f"ROUND(MEDIAN({of}), 2) AS median, ROUND(AVG({of}), 2) AS mean, ROUND(QUANTILE({of}, 0.75), 2) "
        f"AS third_quartile, MAX({of}) AS highest, ROUND(STDDEV({of}), 2) AS standard_deviation FROM {table.name}"
    )
    series_column = group if group and group.distinct <= 4 else None
    raw = f"SELECT {', '.join(column.name for column in (value, series_column) if column)} FROM {table.name}"
    drawing = ChartSpec("histogram", of, series=series_column.name if series_column else None, sql=raw)
    title = f"Distribution of {value.phrase}"
    return Analysis(table.name, "spread", title, sql, drawing, (), value, "", _columns_with_missing([value]))


def correlation(table: Table, x: Column, y: Column, group: Column | None = None) -> Analysis:
    """The correlation of two measures, overall and within groups."""
    source = f"FROM {table.name} WHERE {_not_null([x, y])}"
    numbers = f"COUNT(*) AS n, ROUND(CORR({x.name}, {y.name}), 3) AS correlation"
    sql = f"SELECT 'all' AS rows, {numbers} {source}"
    if group:
        by_group = f"SELECT {_group_expression(group, named=False)}, {numbers} {source} GROUP BY 1 ORDER BY 1"
        sql += f" UNION ALL SELECT * FROM ({by_group})"
    columns = ", ".join(column.name for column in (x, y, group) if column)
    series = group.name if group and group.distinct <= 8 else None
    drawing = ChartSpec("scatter", x.name, y.name, series, f"SELECT {columns} FROM {table.name}")
    groups = (group,) if group else ()
    title = f"{y.phrase.capitalize()} against {x.phrase}"
    return Analysis(
        table.name,
        "relation",
        title,
        sql,
        drawing,
        groups,
        value=y,
        label=x.phrase,
        columns_with_missing=_columns_with_missing([x, y]),
    )


def trend(table: Table, time: Column, value: Column | None, function: str, word: str) -> Analysis:
    """A measure, or the number of rows, over time. Many dates are grouped by month or year."""
    shape = "" if time.type != "date" or time.distinct <= 60 else "%Y-%m" if time.distinct <= 1500 else "%Y"
    period = {"": time.name, "%Y-%m": "month", "%Y": "year"}[shape]
    key = f"strftime('{shape}', {time.name}) AS {period}" if shape else time.name
    result = f"{word}_{value.name}" if value else f"number_of_{table.noun}"
    amount = f"ROUND({function}({value.name}), 2)" if value else "COUNT(*)"
    columns = [time, value] if value else [time]
    sql = (
        f"SELECT {key}, COUNT(*) AS n, {amount} AS {result} FROM {table.name} "
        f"WHERE {_not_null(columns)} GROUP BY 1 ORDER BY 1"
    )
    title = f"{word.capitalize()} {value.phrase} by {period}" if value else f"Number of {table.noun} by {period}"
    drawing = ChartSpec("line", period, result)
    return Analysis(table.name, "trend", title, sql, drawing, (time,), value, word, _columns_with_missing(columns))


def _group_expression(group: Column, *, named: bool = True) -> str:
    """The SQL expression of a group, with a name for missing values."""
    if not group.missing:
        return group.name
    return f"COALESCE(CAST({group.name} AS TEXT), '(missing)'){f' AS {group.name}' if named else ''}"


def _group_positions(groups: Sequence[Column]) -> str:
    return ", ".join(str(position) for position in range(1, len(groups) + 1))


def _not_null(columns: Sequence[Column]) -> str:
    return " AND ".join(f"{column.name} IS NOT NULL" for column in columns)


def _columns_with_missing(columns: Sequence[Column]) -> tuple[Column, ...]:
    return tuple(column for column in columns if column.missing)


def _join_phrases(groups: Sequence[Column]) -> str:
    return " and ".join(group.phrase for group in groups)
