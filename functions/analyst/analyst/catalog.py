"""Which of a task's files are tables, and what SQL calls them; only what a query needs is read."""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from analyst.formats.grid import NotATableError
from analyst.formats.table_reader import read_tables, table_name
from analyst.sql.identifiers import make_distinct
from analyst.table import Table

# What the analyst itself writes beside tables.
DOCUMENTS = frozenset({".svg", ".html", ".md"})
WORKBOOK = ".xlsx"


@dataclass(frozen=True)
class FoundTables:
    """`skipped` says of each file that was no table why."""

    tables: tuple[Table, ...]
    skipped: tuple[str, ...]


def table_names(files: Iterable[str]) -> dict[str, str]:
    """File name → table name, in the order of the files. Files may be no tables: nothing is read here."""
    names = [file for file in files if Path(file).suffix.lower() not in DOCUMENTS]
    return dict(zip(names, make_distinct(map(table_name, names)), strict=True))


def mentioned_files(names: Mapping[str, str], sql: str) -> dict[str, str]:
    """The part of the catalog that the SQL speaks of; all of it where it speaks of none.

    The tables of a workbook begin with the workbook's name.
    """
    words = {word.casefold() for word in re.findall(r"\w+", sql)}
    part = {file: name for file, name in names.items() if _mentions(words, file, name.casefold())}
    return part or dict(names)


def _mentions(words: set[str], file: str, name: str) -> bool:
    sheets = Path(file).suffix.lower() == WORKBOOK and any(word.startswith(f"{name}_") for word in words)
    return name in words or sheets


def read_tables_of(names: Mapping[str, str], path: Callable[[str], Path]) -> FoundTables:
    """Reads the files of the catalog; `path` gives a file's place on disk."""
    tables: list[Table] = []
    skipped: list[str] = []
    for file, name in names.items():
        try:
            tables += read_tables(path(file), name)
        except NotATableError as error:
            skipped.append(str(error))
    return FoundTables(tuple(tables), tuple(skipped))
