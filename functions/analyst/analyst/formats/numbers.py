"""Numbers as people write them: 1234.5, 1,234.5, 1.234,5 and 1 234,5; read only where one reading is possible."""

import math
import re
from collections.abc import Set
from dataclasses import dataclass, field

WHOLE = re.compile(r"[+-]?\d+", re.ASCII)
PLAIN = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?", re.ASCII)
SPACED = re.compile(r"[+-]?\d{1,3}(?:[ \u00a0\u202f'\u2019]\d{3})+(?:[.,]\d+)?", re.ASCII)
GAPS = re.compile(r"[ \u00a0\u202f'\u2019]")
LEADING_ZERO = re.compile(r"[+-]?0\d+", re.ASCII)

POINT_GROUPED = re.compile(r"[+-]?[1-9]\d{0,2}(?:,\d{3})+(?:\.\d+)?", re.ASCII)
POINT_PROOF = re.compile(r".*,\d{3}[,.].*|[+-]?\d*\.(?:\d{1,2}|\d{4,})", re.ASCII)
COMMA_GROUPED = re.compile(r"[+-]?(?:\d+|[1-9]\d{0,2}(?:\.\d{3})+)(?:,\d+)?", re.ASCII)
COMMA_PROOF = re.compile(r".*\.\d{3}[.,].*|[+-]?\d*,(?:\d{1,2}|\d{4,})|[+-]?0,\d+", re.ASCII)


@dataclass(frozen=True)
class Numbers:
    """What each spelling means; empty where not all are numbers, with the reason where it is worth telling."""

    values: dict[str, int | float] = field(default_factory=dict)
    note: str = ""


def read_numbers(spellings: Set[str]) -> Numbers:
    """All the spellings as numbers, or none of them."""
    if all(map(PLAIN.fullmatch, spellings)):
        return _converted({spelling: spelling for spelling in spellings})
    if not all(spelling[-1].isdigit() or spelling[-1] == "." for spelling in spellings):
        return Numbers()
    bare = {s: GAPS.sub("", s) if SPACED.fullmatch(s) else s for s in spellings}
    forms = set(bare.values())
    if all(map(PLAIN.fullmatch, forms)):
        return _converted(bare)
    return _with_commas(bare, forms)


def _with_commas(bare: dict[str, str], forms: Set[str]) -> Numbers:
    as_point = all(POINT_GROUPED.fullmatch(form) or PLAIN.fullmatch(form) for form in forms)
    as_comma = all(map(COMMA_GROUPED.fullmatch, forms))
    if as_point and (not as_comma or any(map(POINT_PROOF.fullmatch, forms))):
        return _converted({spelling: form.replace(",", "") for spelling, form in bare.items()})
    if as_comma and any(map(COMMA_PROOF.fullmatch, forms)):
        return _converted({s: form.replace(".", "").replace(",", ".") for s, form in bare.items()})
    if as_point and as_comma:
        example = min(form for form in forms if "," in form)
        return Numbers(note=f"kept as text: {example} can be read with a decimal comma or a thousands comma")
    return Numbers()


def _converted(forms: dict[str, str]) -> Numbers:
    """Spelling → plain form, to numbers: all whole, or all real."""
    if all(map(WHOLE.fullmatch, forms.values())):
        return _whole(forms)
    real = {spelling: float(form) for spelling, form in forms.items()}
    return Numbers({**real}) if all(map(math.isfinite, real.values())) else Numbers()


def _whole(forms: dict[str, str]) -> Numbers:
    """Codes are not numbers: what starts with zeros or is too long for SQL stays as it is."""
    if any(map(LEADING_ZERO.fullmatch, forms.values())):
        return Numbers(note="leading zeros: kept as text")
    if any(len(form) > 18 for form in forms.values()):
        return Numbers(note="longer than SQL's whole numbers: kept as text")
    return Numbers({spelling: int(form) for spelling, form in forms.items()})
