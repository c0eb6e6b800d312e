"""A table: named, typed columns of equal length, made from a grid of cells."""

from collections.abc import Iterator
from dataclasses import dataclass

from analyst.formats.cells import Cell, Type, read_cells
from analyst.formats.grid import Grid
from analyst.sql.identifiers import identifier, make_distinct


@dataclass(frozen=True)
class Column:
    """A column. `name` is its SQL name, `header` its name in the file."""

    name: str
    header: str
    type: Type
    values: tuple[Cell, ...]


@dataclass(frozen=True)
class Table:
    """A table. `name` is its SQL name, `source` its file and sheet; `notes` list the repairs made while reading."""

    name: str
    source: str
    columns: tuple[Column, ...]
    notes: tuple[str, ...] = ()

    @property
    def height(self) -> int:
        return len(self.columns[0].values)

    def rows(self) -> Iterator[tuple[Cell, ...]]:
        return zip(*(column.values for column in self.columns), strict=True)


def make_table(name: str, source: str, grid: Grid) -> Table:
    """Makes a table of a grid: repairs the names and detects the types."""
    names = make_distinct(identifier(header, f"column_{i}") for i, header in enumerate(grid.header, 1))
    columns, notes = [], [*grid.notes, *_renamed(names, grid.header)]
    for i, (column, header) in enumerate(zip(names, grid.header, strict=True)):
        cells = read_cells([row[i] for row in grid.rows])
        columns.append(Column(column, header or column, cells.type, cells.values))
        if cells.note:
            notes.append(f"{column}: {cells.note}")
    return Table(name, source, tuple(columns), tuple(notes))


def _renamed(names: tuple[str, ...], headers: tuple[str, ...]) -> list[str]:
    pairs = [f'"{header}" is {name}' for name, header in zip(names, headers, strict=True) if header != name]
    if not pairs:
        return []
    more = f" and {len(pairs) - 20} more" if len(pairs) > 20 else ""
    return [f"columns renamed for SQL: {', '.join(pairs[:20])}{more}"]
