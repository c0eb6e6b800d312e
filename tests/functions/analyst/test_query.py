"""SQL over tables: it reads, whatever it says, and it ends, whatever it asks for."""

import contextlib
import csv
import io
import sqlite3
import statistics
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analyst.formats.table_reader import read_tables
from analyst.sql import aggregates
from analyst.sql.query import QueryError, QueryResult, as_csv, as_markdown, run_query
from analyst.sql.sandbox import open_sandbox
from functions.analyst.tool_harness import AGENT

PENGUINS = read_tables(AGENT / "data" / "penguins.csv")
ENDLESS = "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r)"


def query(sql: str, **limits: Any) -> QueryResult:
    return run_query(PENGUINS, sql, **limits)


def refusal(sql: str, **limits: Any) -> str:
    with pytest.raises(QueryError) as refused:
        query(sql, **limits)
    return str(refused.value)


def measured(column: str) -> list[float]:
    with (AGENT / "data" / "penguins.csv").open(newline="") as file:
        return [float(row[column]) for row in csv.DictReader(file) if row[column] != "NA"]


def test_a_query_answers_with_named_columns_and_missing_values_left_out() -> None:
    result = query("SELECT COUNT(*) AS rows, COUNT(sex) AS known, AVG(body_mass_g) AS mean FROM penguins")
    assert result.columns == ("rows", "known", "mean")
    assert result.rows[0][:2] == (344, 333)
    assert result.rows[0][2] == pytest.approx(statistics.fmean(measured("body_mass_g")))


def test_the_added_statistics_are_those_of_the_statistics_module() -> None:
    mass, flipper = measured("body_mass_g"), measured("flipper_length_mm")
    quartiles = statistics.quantiles(mass, n=4, method="inclusive")
    sql = (
        "SELECT median(body_mass_g), quantile(body_mass_g, 0.25), percentile(body_mass_g, 75), stddev(body_mass_g), "
        "variance(body_mass_g), corr(body_mass_g, flipper_length_mm) FROM penguins"
    )
    expected = [
        statistics.median(mass),
        quartiles[0],
        quartiles[2],
        statistics.stdev(mass),
        statistics.variance(mass),
        statistics.correlation(mass, flipper),
    ]
    assert list(query(sql).rows[0]) == pytest.approx(expected)


def test_statistics_of_nothing_are_missing() -> None:
    sql = "SELECT median(x), quantile(x, 0.5), stddev(x), corr(x, x) FROM (SELECT NULL AS x)"
    assert query(sql).rows == ((None, None, None, None),)


def test_statistics_of_text_are_an_error_and_never_a_zero() -> None:
    assert "take numbers" in refusal("SELECT median(species) FROM penguins")
    assert "between 0 and 1" in refusal("SELECT quantile(year, 7) FROM penguins")


@pytest.mark.parametrize(
    "sql",
    [
        "INSERT INTO penguins (species) VALUES ('Emperor')",
        "UPDATE penguins SET species = 'Emperor'",
        "DELETE FROM penguins",
        "WITH x AS (SELECT 1) DELETE FROM penguins",
        "REPLACE INTO penguins (species) VALUES ('x')",
        "DROP TABLE penguins",
        "ALTER TABLE penguins ADD COLUMN x",
        "CREATE TABLE x (a)",
        "CREATE TEMP TABLE x AS SELECT 1",
        "CREATE VIEW x AS SELECT 1",
        "CREATE TRIGGER x AFTER INSERT ON penguins BEGIN SELECT 1; END",
        "CREATE VIRTUAL TABLE x USING fts5(a)",
        "ATTACH DATABASE '{file}' AS other",
        "DETACH DATABASE main",
        "VACUUM INTO '{file}'",
        "VACUUM",
        "PRAGMA query_only = OFF",
        "PRAGMA writable_schema = ON",
        "SELECT * FROM pragma_database_list",
        "BEGIN",
        "SAVEPOINT x",
        "ANALYZE",
        "SELECT load_extension('{file}')",
        "SELECT fts3_tokenizer('simple')",
        "SELECT randomblob(1000000000)",
        "SELECT zeroblob(1000000000)",
    ],
)
def test_sql_that_does_anything_but_read_is_refused_and_leaves_no_trace(sql: str, tmp_path: Path) -> None:
    file = tmp_path / "stolen.db"
    assert "Only reading is allowed" in refusal(sql.format(file=file))
    assert not file.exists()


@pytest.mark.parametrize(
    "sql", ["SELECT readfile('/etc/passwd')", "SELECT writefile('/tmp/x', 'y')", "SELECT edit('x')"]
)
def test_functions_that_reach_files_do_not_exist(sql: str) -> None:
    assert refusal(sql).startswith("no such function")


@pytest.mark.parametrize(
    "sql",
    [
        f"{ENDLESS} SELECT COUNT(*) FROM r",
        f"{ENDLESS} SELECT n FROM r ORDER BY n",
        "SELECT COUNT(*) FROM penguins a, penguins b, penguins c, penguins d",
    ],
)
def test_a_query_that_never_ends_is_stopped_in_time(sql: str) -> None:
    start = time.monotonic()
    assert "stopped after 0.5 s" in refusal(sql, seconds=0.5)
    assert time.monotonic() - start < 60


@pytest.mark.parametrize(
    "sql",
    [
        f"{ENDLESS} SELECT n, hex(printf('%.*c', 5000, 'x')) AS h FROM r ORDER BY h",
        "WITH RECURSIVE r(s) AS (SELECT 'x' UNION ALL SELECT s || s FROM r) SELECT length(s) FROM r",
        "SELECT replace(hex(printf('%.*c', 400000, 'x')), '7', 'yyyyyyyyyyyyyyyy')",
    ],
)
def test_a_query_that_would_eat_the_memory_is_stopped(sql: str) -> None:
    assert "more memory than it may have" in refusal(sql)


def test_a_statistic_over_endless_rows_is_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(aggregates, "MAX_VALUES", 1000)
    assert "more memory than it may have" in refusal(f"{ENDLESS} SELECT median(n) FROM r")


def test_a_huge_result_is_cut_and_says_so() -> None:
    result = query(f"{ENDLESS} SELECT n FROM r", max_rows=1000)
    assert (len(result.rows), result.complete) == (1000, False)
    shown = as_markdown(result)
    assert shown.startswith("more than 1,000 rows. The first 100 are shown.")
    assert shown.count("\n") < 110


def test_wide_texts_are_cut_to_what_a_model_can_read() -> None:
    shown = as_markdown(query("SELECT printf('%.*c', 5000, 'x') AS a, species FROM penguins"))
    assert len(shown) < 10_000
    assert "344 rows. The first" in shown


@pytest.mark.parametrize(
    ("sql", "help_"),
    [
        (
            "SELECT body_mas FROM penguins",
            "no such column: body_mas. Columns of penguins: species, island, bill",
        ),
        ('SELECT "Adelie" FROM penguins', "no such column: Adelie"),
        ("SELECT * FROM pinguins", "no such table: pinguins. Columns of penguins: species"),
        ("SELECT mean(year) FROM penguins", "there are median(x)"),
        ("SELEKT 1", 'near "SELEKT": syntax error'),
        ("SELECT 1; SELECT 2", "one SELECT statement at a time"),
        ("-- nothing", "no query in the SQL"),
        ("", "no query in the SQL"),
        ("SELECT ?", "bindings"),
        ("SELECT '\ud800'", "SQL error"),
    ],
)
def test_bad_sql_gets_an_error_that_says_what_there_is(sql: str, help_: str) -> None:
    assert help_ in refusal(sql)


def test_nested_json_can_be_read() -> None:
    assert query("SELECT value FROM json_each('[1, 2]')").rows == ((1,), (2,))


def test_a_result_as_csv_is_read_back_as_it_was_and_runs_nothing_in_a_spreadsheet() -> None:
    result = QueryResult(("a", "=b"), (("=1+1", -5), ("@x", None), ("-2+3", 1.5), ('plain, "quoted"\nä', 0)))
    text = as_csv(result).decode("utf-8-sig")
    rows = list(csv.reader(io.StringIO(text, newline="")))
    assert rows[0] == ["a", "'=b"]
    assert rows[1:] == [["'=1+1", "-5"], ["'@x", ""], ["'-2+3", "1.5"], ['plain, "quoted"\nä', "0"]]


def test_cells_cannot_break_out_of_the_markdown_table() -> None:
    shown = as_markdown(QueryResult(("a|b",), (("x | y\nz ![p](q)",),)))
    assert shown.splitlines()[2:] == ["| a\\|b |", "| --- |", "| x \\| y z !\\[p](q) |"]


SPOKEN = """SELECT INSERT UPDATE DELETE DROP ALTER ATTACH PRAGMA VACUUM WITH RECURSIVE INTO FROM WHERE SET VALUES TABLE
penguins species body_mass_g main sqlite_master * ( ) , ; = 1 'x' AS UNION ALL ORDER BY LIMIT writable_schema REINDEX"""
WORDS = st.sampled_from(SPOKEN.split())


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("nothing")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        yield folder


@given(words=st.lists(WORDS, max_size=12))
def test_no_sequence_of_words_writes_anything(folder: Path, words: list[str]) -> None:
    """Whatever runs gives rows or an error; the connection's data and the working folder stay as they were."""
    connection = open_sandbox(PENGUINS, seconds=2.0)
    before = connection.total_changes
    with contextlib.suppress(sqlite3.Error, sqlite3.Warning):
        connection.execute(" ".join(words)).fetchmany(5)
    assert connection.total_changes == before
    assert connection.execute("SELECT COUNT(*), COUNT(DISTINCT species) FROM penguins").fetchone() == (344, 3)
    assert connection.execute("SELECT group_concat(name) FROM sqlite_master").fetchone() == ("penguins",)
    connection.close()
    assert not any(folder.iterdir())
