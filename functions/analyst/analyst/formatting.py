"""Formats values and tables as text for people and models."""

import math
import re
from collections.abc import Iterable, Sequence

MAX_CELL_CHARS = 200
# Characters that end a cell or start a link, a picture or emphasis.
MARKDOWN_CHARS = re.compile(r"[\\|\[*`]")


def format_value(value: object) -> str:
    """A value as text: integers in full, other numbers with four decimals or six digits, '' for missing."""
    match value:
        case None:
            return ""
        case bool():
            return "true" if value else "false"
        case float() if math.isfinite(value):
            return _format_float(value)
        case bytes():
            return f"({len(value)} bytes)"
    return str(value)


def _format_float(value: float) -> str:
    if value and not 1e-3 <= abs(value) < 1e15:
        return f"{value:.6g}"
    return f"{value:.4f}".rstrip("0").rstrip(".")


def markdown_table(header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A Markdown table. Number columns are right-aligned, long texts are cut."""
    body = [list(row) for row in rows]
    rule = ["---:" if _is_numeric([row[i] for row in body]) else "---" for i in range(len(header))]
    lines = [
        [_format_cell(name) for name in header],
        rule,
        *([_format_cell(format_value(value)) for value in row] for row in body),
    ]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _is_numeric(values: list[object]) -> bool:
    present = [value for value in values if value is not None]
    return bool(present) and all(isinstance(value, int | float) and not isinstance(value, bool) for value in present)


def _format_cell(text: str) -> str:
    line = " ".join(text.split())
    cut = line if len(line) <= MAX_CELL_CHARS else f"{line[: MAX_CELL_CHARS - 1]}…"
    return MARKDOWN_CHARS.sub(r"\\\g<0>", cut)
