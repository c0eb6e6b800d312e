"""Parses numbers in local notations: 1234.5, 1,234.5, 1.234,5 and 1 234,5. Ambiguous ones stay text."""

import math
import re
from collections.abc import Set
from dataclasses import dataclass, field

WHOLE = re.compile(r"[+-]?\d+", re.ASCII)
PLAIN = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?", re.ASCII)
SPACED = re.compile(r"[+-]?\d{1,3}(?:[ \u00a0\u202f'\u2019]\d{3})+(?:[.,]\d+)?", re.ASCII)
GROUP_SPACES = re.compile(r"[ \u00a0\u202f'\u2019]")
LEADING_ZERO = re.compile(r"[+-]?0\d+", re.ASCII)

POINT_GROUPED = re.compile(r"[+-]?[1-9]\d{0,2}(?:,\d{3})+(?:\.\d+)?", re.ASCII)
POINT_DECIMAL = re.compile(r".*,\d{3}[,.].*|[+-]?\d*\.(?:\d{1,2}|\d{4,})", re.ASCII)
COMMA_GROUPED = re.compile(r"[+-]?(?:\d+|[1-9]\d{0,2}(?:\.\d{3})+)(?:,\d+)?", re.ASCII)
COMMA_DECIMAL = re.compile(r".*\.\d{3}[.,].*|[+-]?\d*,(?:\d{1,2}|\d{4,})|[+-]?0,\d+", re.ASCII)


@dataclass(frozen=True)
class ParsedNumbers:
    """Spelling → number. Empty if not all are numbers; `note` then gives the reason if it helps the user."""

    values: dict[str, int | float] = field(default_factory=dict)
    note: str = ""


def read_numbers(spellings: Set[str]) -> ParsedNumbers:
    """Parses all spellings as numbers, or none."""
    if all(map(PLAIN.fullmatch, spellings)):
        return _convert({spelling: spelling for spelling in spellings})
    if not all(spelling[-1].isdigit() or spelling[-1] == "." for spelling in spellings):
        return ParsedNumbers()
    plain = {s: GROUP_SPACES.sub("", s) if SPACED.fullmatch(s) else s for s in spellings}
    distinct = set(plain.values())
    if all(map(PLAIN.fullmatch, distinct)):
        return _convert(plain)
    return _parse_with_commas(plain, distinct)


def _parse_with_commas(plain: dict[str, str], distinct: Set[str]) -> ParsedNumbers:
    as_point = all(POINT_GROUPED.fullmatch(form) or PLAIN.fullmatch(form) for form in distinct)
    as_comma = all(map(COMMA_GROUPED.fullmatch, distinct))
    if as_point and (not as_comma or any(map(POINT_DECIMAL.fullmatch, distinct))):
        return _convert({spelling: form.replace(",", "") for spelling, form in plain.items()})
    if as_comma and any(map(COMMA_DECIMAL.fullmatch, distinct)):
        return _convert({s: form.replace(".", "").replace(",", ".") for s, form in plain.items()})
    if as_point and as_comma:
        example = min(form for form in distinct if "," in form)
        return ParsedNumbers(note=f"kept as text: {example} can be read with a decimal comma or a thousands comma")
    return ParsedNumbers()


def _convert(forms: dict[str, str]) -> ParsedNumbers:
    """Converts spelling → plain form to numbers, either all integers or all floats."""
    if all(map(WHOLE.fullmatch, forms.values())):
        return _to_integers(forms)
    floats = {spelling: float(form) for spelling, form in forms.items()}
    return ParsedNumbers({**floats}) if all(map(math.isfinite, floats.values())) else ParsedNumbers()


def _to_integers(forms: dict[str, str]) -> ParsedNumbers:
    """Integers. Codes stay text: numbers with leading zeros or too long for SQL."""
    if any(map(LEADING_ZERO.fullmatch, forms.values())):
        return ParsedNumbers(note="leading zeros: kept as text")
    if any(len(form) > 18 for form in forms.values()):
        return ParsedNumbers(note="longer than SQL's whole numbers: kept as text")
    return ParsedNumbers({spelling: int(form) for spelling, form in forms.items()})
