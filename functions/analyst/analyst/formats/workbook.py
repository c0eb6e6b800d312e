"""Reads the sheets of an .xlsx workbook: last computed values, never formulas."""

from collections.abc import Iterator
from datetime import date, datetime, time, timedelta
from pathlib import Path
from xml.etree.ElementTree import ParseError
from zipfile import BadZipFile, ZipFile

from analyst.formats.grid import Grid, NotATableError, Row, make_grid

# A workbook within MAX_CELLS stays far below this.
MAX_UNPACKED_BYTES = 400_000_000
FORMAT_HINT = "Open it in a spreadsheet program and save it again as .xlsx, or as CSV."


def read_sheets(path: Path) -> dict[str, Grid]:
    """Sheet name → grid of each visible sheet that has rows. Raises NotATableError."""
    _check_size(path)
    # Importing openpyxl takes 0.2 s, so it is imported only for workbooks.
    from openpyxl import load_workbook
    from openpyxl.utils.exceptions import InvalidFileException

    try:
        book = load_workbook(path, read_only=True, data_only=True)
    except (InvalidFileException, BadZipFile, ParseError, KeyError, ValueError, TypeError, OSError) as error:
        raise NotATableError(path.name, "the workbook is damaged", FORMAT_HINT) from error
    try:
        sheets = [sheet for sheet in book.worksheets if sheet.sheet_state == "visible"]
        return {sheet.title: grid for sheet in sheets if (grid := _read_grid(sheet, path.name))}
    except (BadZipFile, ParseError, KeyError, ValueError, TypeError) as error:
        raise NotATableError(path.name, "one of its sheets is damaged", FORMAT_HINT) from error
    finally:
        book.close()


def _check_size(path: Path) -> None:
    try:
        with ZipFile(path) as archive:
            names = set(archive.namelist())
            size = sum(entry.file_size for entry in archive.infolist())
    except BadZipFile as error:
        raise NotATableError(path.name, "the workbook is damaged", FORMAT_HINT) from error
    if "[Content_Types].xml" not in names or not any(name.startswith("xl/") for name in names):
        raise NotATableError(path.name, "it is an archive, not a workbook", "Unpack it and send the files in it.")
    if size > MAX_UNPACKED_BYTES:
        cause = f"it unpacks to {size // 1_000_000} MB"
        raise NotATableError(path.name, cause, "Send fewer rows, or the one sheet that matters as CSV.")


def _read_grid(sheet: object, file: str) -> Grid | None:
    rows = _read_rows(sheet)
    first = next(rows, None)
    if first is None:
        return None
    return make_grid(_prepend(first, rows), file)


def _prepend(first: Row, rest: Iterator[Row]) -> Iterator[Row]:
    yield first
    yield from rest


def _read_rows(sheet: object) -> Iterator[Row]:
    """The rows that have a value. The size that the file declares is ignored because it may be wrong."""
    sheet.reset_dimensions()  # type: ignore[attr-defined]
    for row in sheet.iter_rows(values_only=True):  # type: ignore[attr-defined]
        cells = [_to_cell(cell) for cell in row]
        if any(cell is not None for cell in cells):
            yield cells


def _to_cell(cell: object) -> object:
    """A cell's value, dates as ISO text."""
    match cell:
        case datetime() if cell.time() == time():
            return cell.date().isoformat()
        case datetime():
            return cell.isoformat(sep=" ")
        case date() | time():
            return cell.isoformat()
        case timedelta():
            return cell.total_seconds()
        case str() | int() | float() | None:
            return cell
    return str(cell)
