"""Parses dates in local notations to ISO text. Dates whose day and month are ambiguous stay text."""

import re
from collections.abc import Set
from dataclasses import dataclass, field
from datetime import date, datetime

CLOCK_TIME = r"(?:[T ](?P<clock>\d{1,2}:\d{2}(?::\d{2}(?:\.\d{1,6})?)?(?:Z|[+-]\d{2}:?\d{2})?))?"
YEAR_FIRST = re.compile(r"(?P<y>\d{4})(?P<sep>[-/.])(?P<b>\d{1,2})(?P=sep)(?P<c>\d{1,2})" + CLOCK_TIME, re.ASCII)
YEAR_LAST = re.compile(r"(?P<a>\d{1,2})(?P<sep>[-/.])(?P<b>\d{1,2})(?P=sep)(?P<y>\d{4})" + CLOCK_TIME, re.ASCII)


@dataclass(frozen=True)
class ParsedDates:
    """Spelling → ISO date. Empty if not all are dates; `note` then gives the reason if it helps the user."""

    values: dict[str, str] = field(default_factory=dict)
    note: str = ""


def read_dates(spellings: Set[str]) -> ParsedDates:
    """Parses all spellings as ISO dates or date-times, or none."""
    if not spellings:
        return ParsedDates()
    first = {s: match for s in spellings if (match := YEAR_FIRST.fullmatch(s))}
    if len(first) == len(spellings):
        return _parse({s: (m["y"], m["b"], m["c"], m["clock"]) for s, m in first.items()}, "")
    last = {s: match for s in spellings if (match := YEAR_LAST.fullmatch(s))}
    return _parse_year_last(last) if len(last) == len(spellings) else ParsedDates()


def _parse_year_last(matches: dict[str, re.Match[str]]) -> ParsedDates:
    """With points the order is day.month. With slashes, a number above 12 in any row decides."""
    points = all(match["sep"] == "." for match in matches.values())
    day_first = points or any(int(match["a"]) > 12 for match in matches.values())
    month_first = not points and any(int(match["b"]) > 12 for match in matches.values())
    if day_first and month_first:
        return ParsedDates()
    if not day_first and not month_first:
        example = min(matches)
        return ParsedDates(note=f"kept as text: in {example} it is not clear which number is the month")
    month, day = ("b", "a") if day_first else ("a", "b")
    order = "day, month, year" if day_first else "month, day, year"
    return _parse({s: (m["y"], m[month], m[day], m["clock"]) for s, m in matches.items()}, f"dates read as {order}")


def _parse(parts: dict[str, tuple[str, str, str, str | None]], note: str) -> ParsedDates:
    try:
        return ParsedDates({spelling: _to_iso(*part) for spelling, part in parts.items()}, note)
    except ValueError:
        return ParsedDates()


def _to_iso(year: str, month: str, day: str, clock: str | None) -> str:
    day_date = date(int(year), int(month), int(day))
    if clock is None:
        return day_date.isoformat()
    hour = clock if clock[1] != ":" else f"0{clock}"
    return datetime.fromisoformat(f"{day_date}T{hour}").isoformat(sep=" ")
