"""Reads CSV-like text: separated by commas, semicolons, tabs or bars."""

import csv
import io
import re
from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING

from analyst.formats.grid import Grid, NotATableError, make_grid

if TYPE_CHECKING:
    import _csv

SEPARATORS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars"}
SAMPLE_CHARS = 100_000
EXCEL_HINT = re.compile(r"sep=(.)\r?\n")
MIN_WORDS_OF_PROSE = "it reads like prose, not like rows and columns"
SUPPORTED_FORMATS_HINT = "Send a CSV file with a header line, JSON lines, or an .xlsx workbook."


def read_delimited(text: str, file: str) -> Grid:
    """The grid of a CSV-like text. Raises NotATableError for prose."""
    hint = EXCEL_HINT.match(text)
    text = text[hint.end() :] if hint else text
    separator = hint[1] if hint else _detect_separator(text) or _first_line_separator(text)
    if separator is None and not _is_list_text(text):
        raise NotATableError(file, MIN_WORDS_OF_PROSE, SUPPORTED_FORMATS_HINT)
    grid = make_grid(_read_rows(text, separator or "\t", file), file)
    notes = [f"separated by {SEPARATORS.get(separator, separator)}"] if separator and separator != "," else []
    if text.count('"') % 2:
        notes.append("a double quote is never closed: some lines may have been read as one cell")
    return Grid(grid.header, grid.rows, (*notes, *grid.notes))


def _detect_separator(text: str) -> str | None:
    """The separator that gives the most lines the same number of cells, and among equals the most cells."""
    best, best_fit = None, (0.0, 0)
    for separator in SEPARATORS:
        fit = _separator_score(text, separator)
        if fit > best_fit:
            best, best_fit = separator, fit
    return best


def _first_line_separator(text: str) -> str | None:
    """For a few ragged rows: the separator of the first line, if that line consists of names."""
    line = next((line for line in text.splitlines() if line.strip()), "")
    separator = max(SEPARATORS, key=line.count)
    return separator if _look_like_names(line.split(separator)) else None


def _look_like_names(cells: list[str]) -> bool:
    return len(cells) > 1 and all(len(cell.split()) <= 3 for cell in cells)


def _separator_score(text: str, separator: str) -> tuple[float, int]:
    """Share of lines with the most common number of cells, and that number; zero if it is below six in ten.

    If lines are few or differ much, the first one with several cells must consist of names: prose has commas too.
    csv.Sniffer is not used: it looks at characters only and can choose a letter.
    """
    try:
        rows = [row for row in _csv_reader(text[:SAMPLE_CHARS], separator) if any(row)]
    except csv.Error:
        return 0.0, 0
    score = rows[:-1] if len(text) > SAMPLE_CHARS else rows
    width, count = Counter(map(len, score)).most_common(1)[0] if score else (0, 0)
    share = count / max(len(score), 1)
    if width < 2 or share < 0.6:
        return 0.0, 0
    if (share < 0.9 or len(score) < 3) and not _look_like_names(next(row for row in score if len(row) > 1)):
        return 0.0, 0
    return round(share, 1), width


def _csv_reader(text: str, separator: str) -> "_csv.Reader":
    return csv.reader(io.StringIO(text, newline=""), delimiter=separator, skipinitialspace=True)


def _read_rows(text: str, separator: str, file: str) -> Iterator[list[str]]:
    reader = _csv_reader(text, separator)
    try:
        yield from reader
    except csv.Error as error:
        cause = f"line {reader.line_num}: {error}"
        raise NotATableError(file, cause, "Is a double quote opened and never closed?") from error


def _is_list_text(text: str) -> bool:
    """One column counts as a table if its lines are as short as names and numbers."""
    lines = [line for line in text.splitlines()[:1000] if line.strip()]
    word_counts = [len(line.split()) for line in lines]
    return (
        bool(lines) and max(map(len, lines)) <= 120 and word_counts[0] <= 5 and sum(word_counts) <= 4 * len(word_counts)
    )
