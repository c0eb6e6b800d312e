"""A first look at a table: its columns, what is missing, how the values lie, the first rows."""

from collections import Counter
from dataclasses import dataclass
from itertools import islice

from analyst.formats.cells import Cell
from analyst.formatting import markdown_table, spell
from analyst.table import Column, Table

# Above this many distinct values their list tells nothing.
LISTED = 12
SHOWN = 60
# Columns that are described, and those whose values are shown.
DESCRIBED, WIDE = 80, 20


@dataclass(frozen=True)
class ColumnProfile:
    """`low` and `high` are in the order of the type; `common` holds (value, count), most frequent first."""

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
        low=min(counts, key=_order) if ordered else None,
        high=max(counts, key=_order) if ordered else None,
        common=tuple(counts.most_common(LISTED)),
    )


def _order(value: Cell) -> tuple[float, str]:
    """A column has one type, so only one half decides."""
    return (0.0, value) if isinstance(value, str) else (value or 0, "")


def describe(table: Table, rows: int) -> str:
    """The table as text for a model: names to use in SQL, types, missing values, first rows."""
    head = f"Table {table.name} (from {table.source}): {table.height:,} rows, {len(table.columns)} columns."
    notes = "\n".join(["Reading notes:", *(f"- {note}" for note in table.notes)]) if table.notes else ""
    facts = markdown_table(FACTS, [_facts(column) for column in table.columns[:DESCRIBED]])
    others = ", ".join(column.name for column in table.columns[DESCRIBED:])
    more = f"Further columns: {others}." if others else ""
    return "\n\n".join(filter(None, [head, notes, facts, more, _first(table, rows)]))


def _first(table: Table, rows: int) -> str:
    first = [[spell(value)[:SHOWN] for value in row[:WIDE]] for row in islice(table.rows(), rows)]
    if not first:
        return ""
    title = f"First {len(first)} rows{f', first {WIDE} columns' if len(table.columns) > WIDE else ''}:"
    return f"{title}\n\n{markdown_table([column.name for column in table.columns[:WIDE]], first)}"


FACTS = ("column", "type", "missing", "distinct", "values")


def _facts(column: Column) -> tuple[object, ...]:
    facts = profile_column(column)
    return column.name, column.type, facts.missing, facts.distinct, _values(column, facts)


def _values(column: Column, facts: ColumnProfile) -> str:
    """Few values are listed with their counts; many are given by their range, or by the most frequent."""
    if not facts.distinct:
        return "all missing"
    few = facts.distinct <= LISTED
    if column.type in {"text", "boolean"} and (few or facts.common[0][1] > 1):
        listed = ", ".join(f"{spell(value)[:SHOWN]} ({count})" for value, count in facts.common[: LISTED if few else 5])
        return listed if few else f"{listed}, …"
    if column.type == "text":
        return f"all different, such as {spell(facts.common[0][0])[:SHOWN]}"
    return f"{spell(facts.low)} to {spell(facts.high)}"
