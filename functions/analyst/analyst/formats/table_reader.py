"""Reads a file into tables. Its format is detected from its content, not from its name."""

from pathlib import Path

from analyst.formats.delimited import SUPPORTED_FORMATS_HINT, read_delimited
from analyst.formats.grid import Grid, NotATableError
from analyst.formats.json_records import looks_like_json, read_records
from analyst.formats.text_encoding import decode_text
from analyst.formats.workbook import read_sheets
from analyst.sql.identifiers import identifier, make_distinct
from analyst.table import Table, make_table

MAX_BYTES = 64_000_000
# The first bytes of file types that people attach by mistake.
SIGNATURES = (
    (b"\xd0\xcf\x11\xe0", "it is an old .xls file or is locked with a password", "Save it as .xlsx without one."),
    (b"PAR1", "it is a Parquet file", SUPPORTED_FORMATS_HINT),
    (b"ARROW1", "it is an Arrow file", SUPPORTED_FORMATS_HINT),
    (b"SQLite format 3", "it is a database file", "Export the table that matters as CSV."),
    (b"%PDF", "it is a PDF document", "Export the table in it as CSV."),
    (b"\x89PNG", "it is a picture", SUPPORTED_FORMATS_HINT),
    (b"\xff\xd8\xff", "it is a picture", SUPPORTED_FORMATS_HINT),
    (b"GIF8", "it is a picture", SUPPORTED_FORMATS_HINT),
    (b"\x1f\x8b", "it is compressed", "Unpack it first."),
    (b"BZh", "it is compressed", "Unpack it first."),
    (b"7z\xbc\xaf", "it is compressed", "Unpack it first."),
)
MARKUP_STARTS = ("<!doctype", "<html", "<?xml", "<svg")


def read_tables(path: Path, name: str = "") -> tuple[Table, ...]:
    """The tables of a file, at least one; a workbook has one per sheet. Raises NotATableError.

    `name` is the table's name in SQL, by default `table_name` of the path.
    """
    if path.stat().st_size > MAX_BYTES:
        raise NotATableError(
            path.name, f"it is larger than {MAX_BYTES // 1_000_000} MB", "Send a part or a summary of it."
        )
    raw = path.read_bytes()
    name = name or table_name(path.name)
    for signature, cause, remedy in SIGNATURES:
        if raw.startswith(signature):
            raise NotATableError(path.name, cause, remedy)
    if raw.startswith(b"PK\x03\x04"):
        return _read_workbook(path, name)
    return (make_table(name, path.name, _read_text_grid(raw, path)),)


def table_name(file: str) -> str:
    """The SQL name of a file's table: the stem as an identifier."""
    return identifier(Path(file).stem, "table_1")


def _read_workbook(path: Path, name: str) -> tuple[Table, ...]:
    grids = read_sheets(path)
    if not grids:
        raise NotATableError(path.name, "no sheet in it holds rows", "Fill a sheet and send it again.")
    if len(grids) == 1:
        return tuple(make_table(name, path.name, grid) for grid in grids.values())
    names = make_distinct(f"{name}_{identifier(sheet, 'sheet')}" for sheet in grids)
    sheets = zip(names, grids.items(), strict=True)
    return tuple(make_table(table, f"{path.name}, sheet {sheet}", grid) for table, (sheet, grid) in sheets)


def _read_text_grid(raw: bytes, path: Path) -> Grid:
    if not raw.strip():
        raise NotATableError(path.name, "it is empty", SUPPORTED_FORMATS_HINT)
    decoded = decode_text(raw)
    if decoded is None:
        raise NotATableError(path.name, "it is not text", SUPPORTED_FORMATS_HINT)
    text, encoding = decoded
    if text[:200].lstrip().lower().startswith(MARKUP_STARTS):
        raise NotATableError(path.name, "it is a web page or XML", "Export the table in it as CSV.")
    json = looks_like_json(text, path.suffix.lower())
    grid = read_records(text, path.name) if json else read_delimited(text, path.name)
    notes = [] if encoding == "utf-8" else [f"text encoding {encoding}"]
    return Grid(grid.header, grid.rows, (*notes, *grid.notes))
