"""Reads JSON tables: an array of objects, an object that holds one such array, or one object per line."""

import json
from collections.abc import Iterable
from typing import Any

from analyst.formats.grid import MAX_CELLS, MAX_COLUMNS, Grid, NotATableError

FORMAT_HINT = "Send a JSON array of objects, or one object per line."


def read_records(text: str, file: str) -> Grid:
    """The grid of the objects: a row for each, a column for each key in order of first appearance."""
    records, notes = _find_records(text, file)
    if not records:
        raise NotATableError(file, "it holds no rows", FORMAT_HINT)
    if not all(isinstance(record, dict) for record in records):
        raise NotATableError(file, "not every item is an object", FORMAT_HINT)
    header = tuple(dict.fromkeys(key for record in records for key in record))
    if len(header) > MAX_COLUMNS or len(header) * len(records) > MAX_CELLS:
        cause = f"it has {len(records):,} rows of {len(header):,} columns"
        raise NotATableError(file, cause, f"The limits are {MAX_COLUMNS} columns and {MAX_CELLS:,} cells.")
    nested = [key for key in header if any(isinstance(record.get(key), dict | list) for record in records)]
    if nested:
        notes.append(f"nested values are kept as JSON text (json_extract reads them): {', '.join(nested)}")
    names = tuple(_is_valid_json(key) for key in header)
    return Grid(names, [[_to_cell(record.get(key)) for key in header] for record in records], tuple(notes))


def _find_records(text: str, file: str) -> tuple[list[Any], list[str]]:
    try:
        value = _parse_json(text)
    except (ValueError, RecursionError):
        return _parse_lines(text, file), []
    if isinstance(value, list):
        return value, []
    return _find_record_list(value)


def _find_record_list(value: Any) -> tuple[list[Any], list[str]]:
    """The only list of objects in an object, as in responses of web APIs; else the object is the only row."""
    lists = [(k, v) for k, v in value.items() if isinstance(v, list) and v] if isinstance(value, dict) else []
    tables = [(key, rows) for key, rows in lists if all(isinstance(row, dict) for row in rows)]
    if len(tables) == 1:
        return tables[0][1], [f'the rows are those under "{tables[0][0]}"']
    return [value], []


def _parse_lines(text: str, file: str) -> list[Any]:
    records = []
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        try:
            records.append(_parse_json(line))
        except (ValueError, RecursionError) as error:
            raise NotATableError(file, f"line {number} is not JSON", FORMAT_HINT) from error
    return records


def _parse_json(text: str) -> Any:
    return json.loads(text, parse_constant=lambda _: None)


def _to_cell(value: Any) -> object:
    if isinstance(value, dict | list):
        return _is_valid_json(json.dumps(value, ensure_ascii=False))
    return _is_valid_json(value) if isinstance(value, str) else value


def _is_valid_json(text: str) -> str:
    """Whether the text is valid Unicode: JSON can hold lone surrogates, which cannot be encoded."""
    return text.encode(errors="replace").decode()


def looks_like_json(text: str, suffix: str) -> bool:
    """Decides by the suffix, or by the first characters if the suffix is unknown."""
    return suffix in {".json", ".jsonl", ".ndjson"} or _starts_with_json(text, ('{"', "[{", "[\n", "[\r\n"))


def _starts_with_json(text: str, openings: Iterable[str]) -> bool:
    return text[:200].lstrip().startswith(tuple(openings))
