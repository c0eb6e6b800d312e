"""One read-only SQL query over tables, and its result."""

import csv
import io
import sqlite3
from collections.abc import Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass

from analyst.formats.cells import Cell
from analyst.formatting import format_value, markdown_table
from analyst.sql.aggregates import AGGREGATE_NAMES
from analyst.sql.sandbox import open_sandbox
from analyst.table import Table

QUERY_TIMEOUT_SECONDS = 10.0
MAX_ROWS = 50_000
MAX_CHARACTERS = 20_000_000
MAX_SHOWN_ROWS = 100
MAX_SHOWN_CHARACTERS = 8_000
FORMULA_START = ("=", "+", "-", "@", "\t", "\r")


class QueryError(Exception):
    """A query was refused, failed or timed out. The text says what to do instead."""


@dataclass(frozen=True)
class QueryResult:
    """A query's result. `complete` is false if the query had more rows than `rows` holds."""

    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    complete: bool = True


def run_query(
    tables: Sequence[Table], sql: str, seconds: float = QUERY_TIMEOUT_SECONDS, max_rows: int = MAX_ROWS
) -> QueryResult:
    """Runs one SELECT and returns at most `max_rows` rows. Raises QueryError."""
    try:
        with closing(open_sandbox(tables, seconds)) as connection, closing(connection.execute(sql)) as cursor:
            if cursor.description is None:
                raise QueryError("There is no query in the SQL. Write one SELECT statement.")
            columns = tuple(name for name, *_ in cursor.description)
            rows, complete = _fetch(cursor, max_rows)
            return QueryResult(columns, rows, complete)
    except (sqlite3.Error, sqlite3.Warning, MemoryError, UnicodeError, OverflowError) as error:
        raise QueryError(_explain_error(error, tables, seconds)) from error


def _fetch(cursor: sqlite3.Cursor, max_rows: int) -> tuple[tuple[tuple[Cell, ...], ...], bool]:
    """Reads one row more than `max_rows` to see if there are more. Counting them would need the whole query."""
    rows: list[tuple[Cell, ...]] = []
    characters = 0
    for row in cursor:
        characters += sum(len(cell) for cell in row if isinstance(cell, str | bytes))
        if len(rows) == max_rows or characters > MAX_CHARACTERS:
            return tuple(rows), False
        rows.append(tuple(format_value(cell) if isinstance(cell, bytes) else cell for cell in row))
    return tuple(rows), True


def _explain_error(error: Exception, tables: Iterable[Table], seconds: float) -> str:
    """SQLite's message with what it lacks: the names that exist, the rule that was broken, or the limit."""
    text = str(error).rstrip(".")
    refused = ("not authorized", "authorization denied", "prohibited", "readonly")
    if any(word in text for word in refused):
        return f"Only reading is allowed: one SELECT over the tables. SQLite said: {text}"
    if text == "interrupted":
        return f"The query was stopped after {seconds:g} s. Make it cheaper: filter, aggregate, join on fewer rows."
    if isinstance(error, MemoryError) or "too big" in text or "out of memory" in text:
        return "The query needs more memory than it may have. Filter or aggregate earlier."
    if "user-defined" in text:
        return f"{AGGREGATE_NAMES} take numbers, and quantiles between 0 and 1. Check the column's type."
    if text.startswith("no such function"):
        return f"{text}. Beside SQLite's own functions there are {AGGREGATE_NAMES}."
    if "no such column" in text or "no such table" in text or "ambiguous" in text:
        return f"{text}. {_table_names(tables)}"
    if "one statement" in text:
        return "Send one SELECT statement at a time."
    return f"SQL error: {text}. The dialect is SQLite's."


def _table_names(tables: Iterable[Table]) -> str:
    names = [f"Columns of {table.name}: {', '.join(column.name for column in table.columns)}." for table in tables]
    return " ".join(names) or "There are no tables."


def as_markdown(result: QueryResult) -> str:
    """The first rows as a Markdown table, with the number of rows."""
    if not result.rows:
        return f"No rows. Columns: {', '.join(result.columns)}."
    visible = list(result.rows[:MAX_SHOWN_ROWS])
    table = markdown_table(result.columns, visible)
    while len(table) > MAX_SHOWN_CHARACTERS and len(visible) > 1:
        del visible[len(visible) // 2 :]
        table = markdown_table(result.columns, visible)
    count = f"{len(result.rows):,}" if result.complete else f"more than {len(result.rows):,}"
    remaining = "" if len(visible) == len(result.rows) else f" The first {len(visible)} are shown."
    return f"{count} row{'' if count == '1' else 's'}.{remaining}\n\n{table}"


def as_csv(result: QueryResult) -> bytes:
    """The result as CSV in UTF-8, with a byte order mark if it holds non-ASCII text, for spreadsheet programs.

    Text that a spreadsheet would run as a formula gets an apostrophe in front.
    """
    buffer = io.StringIO(newline="")
    writer = csv.writer(buffer)
    writer.writerow(map(_disarm_formula, result.columns))
    writer.writerows([_disarm_formula(cell) for cell in row] for row in result.rows)
    text = buffer.getvalue()
    return text.encode("ascii" if text.isascii() else "utf-8-sig")


def _disarm_formula(cell: Cell) -> Cell:
    return f"'{cell}" if isinstance(cell, str) and cell.startswith(FORMULA_START) else cell
