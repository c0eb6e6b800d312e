"""Profile of a table: its columns, missing values, value ranges and first rows."""

from collections import Counter
from dataclasses import dataclass
from itertools import islice

from analyst.formats.cells import Cell
from analyst.formatting import format_value, markdown_table
from analyst.table import Column, Table

# With more distinct values than this, they are not listed.
MAX_LISTED_COLUMNS = 12
MAX_COMMON_VALUES = 60
# Number of columns that are described, and of those whose rows are shown.
MAX_DESCRIBED_COLUMNS, WIDE_TABLE_COLUMNS = 80, 20


@dataclass(frozen=True)
class ColumnProfile:
    """Statistics of a column. `low` and `high` are its extremes; `common` holds (value, count), most frequent first."""

    missing: int
    distinct: int
    low: Cell
    high: Cell
    common: tuple[tuple[Cell, int], ...]


def profile_column(column: Column) -> ColumnProfile:
    counts = Counter(value for value in column.values if value is not None)
    ordered = column.type != "boolean" and counts
    return ColumnProfile(
        missing=len(column.values) - counts.total(),
        distinct=len(counts),
        low=min(counts, key=_sort_key) if ordered else None,
        high=max(counts, key=_sort_key) if ordered else None,
        common=tuple(counts.most_common(MAX_LISTED_COLUMNS)),
    )


def _sort_key(value: Cell) -> tuple[float, str]:
    """A column has one type, so only one of the two parts differs."""
    return (0.0, value) if isinstance(value, str) else (value or 0, "")


def describe_table(table: Table, rows: int) -> str:
    """The table as text for a model: SQL names, types, missing values, first rows."""
    head = f"Table {table.name} (from {table.source}): {table.height:,} rows, {len(table.columns)} columns."
    notes = "\n".join(["Reading notes:", *(f"- {note}" for note in table.notes)]) if table.notes else ""
    facts = markdown_table(PROFILE_HEADER, [_profile_row(column) for column in table.columns[:MAX_DESCRIBED_COLUMNS]])
    others = ", ".join(column.name for column in table.columns[MAX_DESCRIBED_COLUMNS:])
    more = f"Further columns: {others}." if others else ""
    return "\n\n".join(filter(None, [head, notes, facts, more, _first_rows(table, rows)]))


def _first_rows(table: Table, rows: int) -> str:
    first = [
        [format_value(value)[:MAX_COMMON_VALUES] for value in row[:WIDE_TABLE_COLUMNS]]
        for row in islice(table.rows(), rows)
    ]
    if not first:
        return ""
    columns = f", first {WIDE_TABLE_COLUMNS} columns" if len(table.columns) > WIDE_TABLE_COLUMNS else ""
    title = f"First {len(first)} rows{columns}:"
    return f"{title}\n\n{markdown_table([column.name for column in table.columns[:WIDE_TABLE_COLUMNS]], first)}"


PROFILE_HEADER = ("column", "type", "missing", "distinct", "values")


def _profile_row(column: Column) -> tuple[object, ...]:
    facts = profile_column(column)
    return column.name, column.type, facts.missing, facts.distinct, _value_summary(column, facts)


def _value_summary(column: Column, facts: ColumnProfile) -> str:
    """Few values are listed with their counts. Many are summarised by their range or the most frequent ones."""
    if not facts.distinct:
        return "all missing"
    is_short = facts.distinct <= MAX_LISTED_COLUMNS
    if column.type in {"text", "boolean"} and (is_short or facts.common[0][1] > 1):
        values = ", ".join(
            f"{format_value(value)[:MAX_COMMON_VALUES]} ({count})"
            for value, count in facts.common[: MAX_LISTED_COLUMNS if is_short else 5]
        )
        return values if is_short else f"{values}, …"
    if column.type == "text":
        return f"all different, such as {format_value(facts.common[0][0])[:MAX_COMMON_VALUES]}"
    return f"{format_value(facts.low)} to {format_value(facts.high)}"
