"""A grid: the header and the raw rows of a file, before the cells are typed."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import islice

from analyst.formats.dates import read_dates
from analyst.formats.numbers import read_numbers

MAX_CELLS = 2_000_000
MAX_COLUMNS = 500
MAX_PREAMBLE_ROWS = 20
Row = Sequence[object]


class NotATableError(Exception):
    """A file is not usable as a table. The text names the file, the cause and the remedy."""

    def __init__(self, file: str, cause: str, remedy: str) -> None:
        super().__init__(f"{file} cannot be read as a table: {cause}. {remedy}")


@dataclass(frozen=True)
class Grid:
    """Header and rows. Every row has the length of the header; an empty header cell is ''."""

    header: tuple[str, ...]
    rows: list[Row]
    notes: tuple[str, ...] = ()


def make_grid(lines: Iterable[Row], file: str) -> Grid:
    """Makes the grid of a sheet: drops empty rows and lines above the header, pads short rows.

    Raises NotATableError if it is empty or exceeds MAX_CELLS or MAX_COLUMNS.
    """
    rows = _check_bounds(lines, file)
    if not rows:
        raise NotATableError(file, "it holds no rows", "Send a file with a header line and at least one row.")
    width = Counter(len(row) for row in islice(rows, 200)).most_common(1)[0][0]
    top = _find_header(rows, width)
    headless = len(rows) > 1 and _holds_values(rows[top])
    width = max(width, len(rows[top]))
    header = [f"column_{i}" for i in range(1, width + 1)] if headless else [_header_label(cell) for cell in rows[top]]
    header += [""] * (width - len(header))
    body, notes = _pad_row(rows[top if headless else top + 1 :], width)
    if headless:
        notes.insert(0, "no header line: columns named column_1 and so on")
    if top:
        notes.insert(0, f"{top} line(s) above the header left out")
    return _drop_empty_columns(header, body, notes)


def _check_bounds(lines: Iterable[Row], file: str) -> list[Row]:
    rows, cells = [], 0
    for line in lines:
        row = _trim_line(line)
        if not row:
            continue
        cells += len(row)
        if len(row) > MAX_COLUMNS:
            raise NotATableError(file, f"it has more than {MAX_COLUMNS} columns", "Keep the columns that matter.")
        if cells > MAX_CELLS:
            raise NotATableError(
                file, f"it has more than {MAX_CELLS:,} cells", "Send fewer rows or columns, or a summary."
            )
        rows.append(row)
    return rows


def _trim_line(line: Row) -> Row:
    """The row without trailing empty cells, () for an empty row."""
    end = len(line)
    while end and (line[end - 1] is None or line[end - 1] == "" or not str(line[end - 1]).strip()):
        end -= 1
    return line[:end]


def _find_header(rows: list[Row], width: int) -> int:
    """The index of the header: titles and remarks above a table fill one cell, the header fills more."""
    if width < 2:
        return 0
    filled = (i for i, row in enumerate(rows[:MAX_PREAMBLE_ROWS]) if sum(bool(_header_label(cell)) for cell in row) > 1)
    return next(filled, 0)


def _holds_values(row: Row) -> bool:
    """Whether a first line holds only numbers and dates, and so no names."""
    labels = [_header_label(cell) for cell in row if _header_label(cell)]
    return all(read_numbers({label}).values or read_dates({label}).values for label in labels)


def _header_label(cell: object) -> str:
    return "" if cell is None else " ".join(str(cell).split())


def _pad_row(rows: list[Row], width: int) -> tuple[list[Row], list[str]]:
    """Pads a short row with missing cells and cuts a long one."""
    long = [row for row in rows if len(row) > width]
    even = [[*row[:width], *[None] * (width - len(row))] for row in rows]
    if not long:
        return [*even], []
    example = ", ".join(str(cell) for cell in long[0])[:80]
    return [*even], [f"{len(long)} row(s) have more cells than the header, the surplus is left out: {example}"]


def _drop_empty_columns(header: list[str], rows: list[Row], notes: list[str]) -> Grid:
    """Drops columns without name and values, which a separator at the end of the lines creates."""
    columns = [i for i, name in enumerate(header) if name or any(row[i] not in (None, "") for row in rows)]
    if len(columns) < len(header):
        rows = [[row[i] for i in columns] for row in rows]
    return Grid(tuple(header[i] for i in columns), rows, tuple(notes))
