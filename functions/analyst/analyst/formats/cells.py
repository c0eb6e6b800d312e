"""Types the cells of one column: which are missing, and the type and values of the others.

A column has one type. If a spelling has two readings (`1,234`, `03/04/2024`) and no other cell of the column
decides, the column stays text and its note says so: a wrong number is worse than a text.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from analyst.formats.dates import read_dates
from analyst.formats.numbers import read_numbers

Cell = str | int | float | bool | None
Type = Literal["integer", "real", "boolean", "date", "text"]

# The words that pandas reads as missing, and a few that spreadsheets write.
MISSING_WORDS = ["", "NA", "na", "N/A", "n/a", "<NA>", "NaN", "nan", "NULL", "null", "None"]
SPREADSHEET_ERRORS = ["#N/A", "#NA", "#DIV/0!", "#REF!", "#VALUE!", "#NAME?", "#NUM!", "#NULL!"]
MISSING = frozenset([*MISSING_WORDS, *SPREADSHEET_ERRORS])
# Missing only if all other cells of the column are numbers or dates.
PLACEHOLDERS = frozenset({"-", "--", "\u2013", "\u2014", ".", "..", ":", "?"})
BOOLEANS = {"true": True, "false": False}
INT64 = range(-(2**63), 2**63)


@dataclass(frozen=True)
class TypedCells:
    """The values of a column. Dates are ISO text, which sorts and works with SQLite's date functions."""

    type: Type
    values: tuple[Cell, ...]
    note: str = ""


def read_cells(raw: Sequence[object]) -> TypedCells:
    """Types `raw` cells: text from CSV; text, numbers and booleans from JSON and spreadsheets."""
    kinds = {type(cell) for cell in raw} - {type(None)}
    if str in kinds:
        raw = [_is_present(cell) for cell in raw]
        kinds = {type(cell) for cell in raw} - {type(None)}
    if kinds <= {str}:
        return _from_text(raw)
    if kinds == {bool}:
        return TypedCells("boolean", tuple(_from_native(cell) for cell in raw))
    if kinds <= {int, float}:
        return _from_numbers(raw)
    return _from_text([None if cell is None else str(cell) for cell in raw])


def _is_present(cell: object) -> object:
    if not isinstance(cell, str):
        return cell
    stripped = cell.strip()
    return None if stripped in MISSING else stripped


def _from_native(cell: object) -> Cell:
    return cell if isinstance(cell, str | int | float) else None


def _from_numbers(raw: Sequence[object]) -> TypedCells:
    if any(isinstance(cell, int) and cell not in INT64 for cell in raw):
        return _from_text([None if cell is None else str(cell) for cell in raw])
    values = tuple(None if isinstance(cell, float) and not math.isfinite(cell) else _from_native(cell) for cell in raw)
    return TypedCells("real" if any(isinstance(cell, float) for cell in values) else "integer", values)


def _from_text(raw: Sequence[object]) -> TypedCells:
    """Parses each distinct spelling once."""
    spellings = {cell for cell in raw if isinstance(cell, str)}
    kind, meaning, note = _is_missing_code(spellings)
    return TypedCells(kind, tuple(None if cell is None else meaning[str(cell)] for cell in raw), note)


def _is_missing_code(spellings: set[str]) -> tuple[Type, dict[str, Cell], str]:
    placeholders = spellings & PLACEHOLDERS
    rest = spellings - placeholders
    if rest and all(spelling.lower() in BOOLEANS for spelling in rest) and not placeholders:
        return "boolean", {spelling: BOOLEANS[spelling.lower()] for spelling in rest}, ""
    numbers = read_numbers(rest)
    if numbers.values:
        whole = all(isinstance(value, int) for value in numbers.values.values())
        return (
            "integer" if whole else "real",
            _blank_placeholders(numbers.values, placeholders),
            _join_note(numbers.note, placeholders),
        )
    dates = read_dates(rest)
    if dates.values:
        return "date", _blank_placeholders(dates.values, placeholders), _join_note(dates.note, placeholders)
    return "text", {spelling: spelling for spelling in spellings}, numbers.note or dates.note


def _blank_placeholders(values: dict[str, int | float] | dict[str, str], placeholders: set[str]) -> dict[str, Cell]:
    return {**values, **dict.fromkeys(placeholders)}


def _join_note(note: str, placeholders: set[str]) -> str:
    shown = " and ".join(f'"{mark}"' for mark in sorted(placeholders))
    return "; ".join(filter(None, [note, f"{shown} read as missing" if shown else ""]))
