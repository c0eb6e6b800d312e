"""A read-only SQLite connection: no writes, no files, no functions with side effects, a time limit for queries."""

import sqlite3
import time
from collections.abc import Iterable

from analyst.formats.cells import Type
from analyst.sql.aggregates import add_aggregates
from analyst.table import Table

ALLOWED_ACTIONS = frozenset(
    {sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_FUNCTION, sqlite3.SQLITE_RECURSIVE}
)
# Functions that load code, reach files in some builds, or only make large or random values.
FORBIDDEN_FUNCTIONS = frozenset(
    {
        "load_extension",
        "readfile",
        "writefile",
        "edit",
        "fts3_tokenizer",
        "fts5",
        "randomblob",
        "zeroblob",
        "sqlite_log",
    }
)
SQLITE_LIMITS = {
    sqlite3.SQLITE_LIMIT_LENGTH: 1_000_000,
    sqlite3.SQLITE_LIMIT_SQL_LENGTH: 20_000,
    sqlite3.SQLITE_LIMIT_EXPR_DEPTH: 200,
    sqlite3.SQLITE_LIMIT_COMPOUND_SELECT: 50,
    sqlite3.SQLITE_LIMIT_VDBE_OP: 100_000,
    sqlite3.SQLITE_LIMIT_LIKE_PATTERN_LENGTH: 500,
    sqlite3.SQLITE_LIMIT_ATTACHED: 0,
    sqlite3.SQLITE_LIMIT_TRIGGER_DEPTH: 0,
    sqlite3.SQLITE_LIMIT_WORKER_THREADS: 0,
}
# For all of SQLite in this process, tables included, so that a query fails and not the whole function.
MAX_MEMORY_BYTES = 256 * 1024**2
OPCODES_PER_TIME_CHECK = 20_000
COLUMN_AFFINITY: dict[Type, str] = {
    "integer": "INTEGER",
    "real": "REAL",
    "boolean": "INTEGER",
    "date": "TEXT",
    "text": "TEXT",
}


def open_sandbox(tables: Iterable[Table], seconds: float) -> sqlite3.Connection:
    """Loads the tables into memory. After `seconds`, not counting the load, queries fail with "interrupted"."""
    connection = sqlite3.connect(":memory:", isolation_level=None)
    try:
        connection.execute("PRAGMA temp_store = MEMORY")
        connection.execute(f"PRAGMA hard_heap_limit = {MAX_MEMORY_BYTES}")
        for table in tables:
            _load_table(connection, table)
        add_aggregates(connection)
        # SQLite declares a table when these are first used, which the authorizer would refuse.
        connection.execute("SELECT 1 FROM json_each('[]'), json_tree('[]')").fetchall()
        _restrict(connection, time.monotonic() + seconds)
    except BaseException:
        connection.close()
        raise
    return connection


def _load_table(connection: sqlite3.Connection, table: Table) -> None:
    columns = ", ".join(f'"{column.name}" {COLUMN_AFFINITY[column.type]}' for column in table.columns)
    connection.execute(f'CREATE TABLE "{table.name}" ({columns})')
    marks = ", ".join("?" * len(table.columns))
    connection.execute("BEGIN")
    connection.executemany(f'INSERT INTO "{table.name}" VALUES ({marks})', table.rows())  # noqa: S608 - identifiers
    connection.execute("COMMIT")


def _restrict(connection: sqlite3.Connection, end: float) -> None:
    """Sets the limits. The authorizer comes last because it refuses every PRAGMA."""
    connection.execute("PRAGMA query_only = ON")
    connection.setconfig(sqlite3.SQLITE_DBCONFIG_DEFENSIVE, True)
    connection.setconfig(sqlite3.SQLITE_DBCONFIG_TRUSTED_SCHEMA, False)
    # Without these, SQLite reads a mistyped "column" in double quotes as a text and returns a wrong result.
    connection.setconfig(sqlite3.SQLITE_DBCONFIG_DQS_DML, False)
    connection.setconfig(sqlite3.SQLITE_DBCONFIG_DQS_DDL, False)
    for limit, value in SQLITE_LIMITS.items():
        connection.setlimit(limit, value)
    connection.set_authorizer(_authorize)
    connection.set_progress_handler(lambda: time.monotonic() > end, OPCODES_PER_TIME_CHECK)


def _authorize(action: int, _first: str | None, second: str | None, *_: str | None) -> int:
    """For SQLITE_FUNCTION the second argument is the function's name."""
    if action not in ALLOWED_ACTIONS:
        return sqlite3.SQLITE_DENY
    forbidden = action == sqlite3.SQLITE_FUNCTION and (second or "").lower() in FORBIDDEN_FUNCTIONS
    return sqlite3.SQLITE_DENY if forbidden else sqlite3.SQLITE_OK
