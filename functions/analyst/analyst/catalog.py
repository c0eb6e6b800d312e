"""The SQL names of a task's table files. Only the files that a query needs are read."""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from analyst.formats.grid import NotATableError
from analyst.formats.table_reader import read_tables, table_name
from analyst.sql.identifiers import make_distinct
from analyst.table import Table

# Files that the analyst writes and that are no tables.
DOCUMENTS = frozenset({".svg", ".html", ".md"})
WORKBOOK = ".xlsx"


@dataclass(frozen=True)
class FoundTables:
    """Tables that were read. `skipped` has the reason for each file that is no table."""

    tables: tuple[Table, ...]
    skipped: tuple[str, ...]


def table_names(files: Iterable[str]) -> dict[str, str]:
    """File name → table name, in the order of the files. Nothing is read, so a file may turn out to be no table."""
    names = [file for file in files if Path(file).suffix.lower() not in DOCUMENTS]
    return dict(zip(names, make_distinct(map(table_name, names)), strict=True))


def mentioned_files(names: Mapping[str, str], sql: str) -> dict[str, str]:
    """The entries that the SQL mentions, all entries if it mentions none.

    The names of a workbook's tables begin with the workbook's name.
    """
    words = {word.casefold() for word in re.findall(r"\w+", sql)}
    part = {file: name for file, name in names.items() if _mentions(words, file, name.casefold())}
    return part or dict(names)


def _mentions(words: set[str], file: str, name: str) -> bool:
    sheets = Path(file).suffix.lower() == WORKBOOK and any(word.startswith(f"{name}_") for word in words)
    return name in words or sheets


def read_tables_of(names: Mapping[str, str], path: Callable[[str], Path]) -> FoundTables:
    """Reads the tables of these files. `path` returns the local path of a file."""
    tables: list[Table] = []
    skipped: list[str] = []
    for file, name in names.items():
        try:
            tables += read_tables(path(file), name)
        except NotATableError as error:
            skipped.append(str(error))
    return FoundTables(tuple(tables), tuple(skipped))
