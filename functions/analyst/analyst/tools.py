"""The analyst's tools. Each call reads its files again, because the calls of a task may run on different machines."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

from agentfn import Context, File, InputFile, Output, ToolError, tool
from analyst.catalog import mentioned_files, read_tables_of, table_names
from analyst.charts.chart import Chart, ChartError, draw
from analyst.formats.grid import NotATableError
from analyst.formats.table_reader import read_tables
from analyst.report import Report, ReportError, as_html, picture_names
from analyst.report import as_markdown as report_markdown
from analyst.sql.query import QueryError, QueryResult, as_csv, as_markdown, run_query
from analyst.table import Table
from analyst.table_profile import describe_table

PREVIEW_ROWS = 20
LARGE_FILE_BYTES = 5_000_000
NO_FILES = "No file is attached. Ask the user for a table: CSV, JSON lines or .xlsx."


@tool(idempotent=True)
def list_files(context: Context) -> Output:
    """Lists the task's files, attached and produced, with type and size."""
    if not context.files:
        return Output(NO_FILES)
    return Output("\n".join(f"- {file}" for file in context.files))


@tool(idempotent=True)
def preview_table(file: InputFile, context: Context, rows: int = 5) -> str:
    """Shows what a table file holds: its name in SQL, columns, types, missing values, ranges and first rows.

    Reads CSV and the like, JSON lines, JSON arrays and .xlsx workbooks (one table per sheet). Look at every table
    before you query it: column names may have been repaired.

    Args:
        file: Name of the file.
        rows: How many rows to show, at most 20.
    """
    name = table_names(info.name for info in context.files).get(file.name, "")
    with _as_tool_errors():
        tables = read_tables(file, name)
    return "\n\n".join(describe_table(table, min(max(rows, 0), PREVIEW_ROWS)) for table in tables)


@tool(idempotent=True)
def run_sql(sql: str, context: Context, save_as: str | None = None) -> Output:
    """Runs one SELECT in SQLite's dialect over the attached tables and shows the first 100 rows of the result.

    Beside SQLite's functions: median(x), quantile(x, 0 to 1), percentile(x, 0 to 100), stddev(x), variance(x),
    corr(x, y). They and SQL's own aggregates leave missing values (NULL) out. Dates are ISO text; true is 1. Queries
    end after 10 seconds. Only reading is possible.

    Args:
        sql: The SELECT statement. Texts in single quotes, names in double quotes.
        save_as: Keep the whole result as a CSV file of this name, for the user and for later queries.
    """
    with _as_tool_errors():
        result, notes = _query(sql, context)
    if save_as is None:
        return Output("\n\n".join([as_markdown(result), *notes]))
    name = _make_file_name(save_as, ".csv", context)
    return Output("\n\n".join([as_markdown(result), *notes]), files=[File(name, as_csv(result), "text/csv")])


@tool(idempotent=True)
def make_chart(
    kind: Literal["bar", "line", "scatter", "histogram"],
    sql: str,
    x: str,
    title: str,
    context: Context,
    y: str | None = None,
    series: str | None = None,
    name: str | None = None,
) -> Output:
    """Draws a chart of a query's result as an SVG file that write_report can show.

    Bars need one row per x (and series): aggregate in the SQL, and sort there, since bars keep its order. A histogram
    takes raw values and finds its bins itself. Rows with a missing x or y are left out and counted.

    Args:
        kind: bar to compare categories, line for a development, scatter for two measures, histogram for a spread.
        sql: The SELECT statement whose result is drawn. Its column names become the axis titles.
        x: Column of the result for the x axis; the values of a histogram.
        title: What the chart shows, in a few words.
        y: Column of the result for the y axis; a number. Not for histograms.
        series: Column of the result that splits the marks by colour; at most 8 values.
        name: Name of the file; made of the title when left out.
    """
    with _as_tool_errors():
        result, notes = _query(sql, context)
        drawing = draw(Chart(kind, title, x, y, series), result)
    file = _make_file_name(name or title, ".svg", context)
    lines = [f"{file}: {kind} chart, {drawing.marks:,} marks.", *(f"- {note}" for note in drawing.notes), *notes]
    hint = f"Show it in the report with ![{title}]({file})"
    return Output("\n".join([*lines, hint]), files=[File(file, drawing.svg, "image/svg+xml")])


@tool(idempotent=True)
def write_report(title: str, markdown: str, context: Context) -> Output:
    """Writes the report as report.md and as report.html, one page with the charts inside. Writing again replaces it.

    Title, date and sources are added; begin with the findings. Markdown with tables; no HTML. A chart stands on a line
    of its own as ![caption](its-file.svg).

    Args:
        title: Title of the report.
        markdown: The report.
    """
    chart_names = {file.name for file in context.files if file.name.endswith(".svg")}
    unknown = [name for name in picture_names(markdown) if name not in chart_names]
    if unknown:
        raise ToolError(
            f"There is no chart {', '.join(unknown)}. There are: {', '.join(sorted(chart_names)) or 'none yet'}."
        )
    today = datetime.now(UTC)
    report = Report(title, markdown, f"{today.day} {today:%B %Y}", _report_footer(context))
    charts = {name: context.path(name).read_bytes() for name in picture_names(markdown)}
    with _as_tool_errors():
        page = as_html(report, charts)
    files = [
        File(_make_file_name("report", ".md", context), report_markdown(report).encode(), "text/markdown"),
        File(_make_file_name("report", ".html", context), page.encode(), "text/html"),
    ]
    return Output(f"Written with {len(charts)} chart(s).", files=files)


TOOLS = [list_files, preview_table, run_sql, make_chart, write_report]


@contextmanager
def _as_tool_errors() -> Iterator[None]:
    """Turns the analyst's own errors into ToolError, which the model reads."""
    try:
        yield
    except (NotATableError, QueryError, ChartError, ReportError) as error:
        raise ToolError(str(error)) from error


def _query(sql: str, context: Context) -> tuple[QueryResult, list[str]]:
    """Runs the SQL over the tables that it mentions. Returns the result, and a note for each file left out."""
    names = table_names(info.name for info in context.files)
    if not names:
        raise ToolError(NO_FILES)
    mentioned = mentioned_files(names, sql)
    for info in context.files:
        if info.name in mentioned and info.size > LARGE_FILE_BYTES:
            context.progress(f"Reading {info.name}")
    tables = read_tables_of(mentioned, context.path)
    if not tables.tables:
        raise ToolError(" ".join(tables.skipped))
    try:
        return run_query(tables.tables, sql), [f"Left out: {reason}" for reason in tables.skipped]
    except QueryError as error:
        raise QueryError(f"{error}{_other_tables_hint(names, tables.tables)}") from error


def _other_tables_hint(names: dict[str, str], read: tuple[Table, ...]) -> str:
    """The tables that were not read for the query: one of them may have been meant."""
    loaded = {table.name for table in read}
    others = [name for name in names.values() if name not in loaded]
    return f" Other tables: {', '.join(others)}." if others else ""


def _make_file_name(requested: str, suffix: str, context: Context) -> str:
    """The requested name as a plain file name with the right suffix. It never replaces an attached file."""
    stem = requested.removesuffix(suffix).lower()
    name = re.sub(r"[^\w-]+", "-", stem).strip("-")[:60].rstrip("-") or "result"
    produced = {file.name for file in context.produced}
    attached = {file.name for file in context.files} - produced
    return f"{name}{suffix}" if f"{name}{suffix}" not in attached else f"{name}-result{suffix}"


def _report_footer(context: Context) -> str:
    produced = {file.name for file in context.produced}
    sources = [file.name for file in context.files if file.name not in produced and Path(file.name).suffix]
    origin = f" from {', '.join(sources)}" if sources else ""
    return f"Made by the agentfn analyst{origin}. Its numbers come from SQL queries over these files."
