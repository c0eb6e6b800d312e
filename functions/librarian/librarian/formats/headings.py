"""Detects headings by the look of lines, for formats that do not mark them."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from librarian.limits import MAX_HEADINGS, MAX_TITLE_CHARS, MAX_TITLE_WORDS
from librarian.text import flatten_lines

HEADING_WORD = r"(?:agenda\s+item|item|article|section|chapter|part|appendix|exhibit|attachment)"
HEADING_NUMBER = r"\d{1,3}(?:\.\d{1,3})*(?:[A-Za-z](?![A-Za-z]))?"
# "5. Budget", "5.2 Tables", "3) Minutes", "Item 5: Budget", "Item 5 Budget". Not "14 September" or "2027".
NUMBERED_HEADING = re.compile(
    rf"(?:{HEADING_WORD}\s+(?P<named>{HEADING_NUMBER}|[A-Z])(?:[.):]|\s*[-\u2013\u2014:])?"
    rf"|(?P<plain>{HEADING_NUMBER})(?:[.):]|\s+[-\u2013\u2014:])"
    rf"|(?P<deep>\d{{1,3}}(?:\.\d{{1,3}})+)|\u00a7\s*(?P<sign>{HEADING_NUMBER})[.:]?)(?:\s+(?=\S)|$)",
    re.IGNORECASE,
)
# A line of a table of contents ends in a page number.
TABLE_OF_CONTENTS_LINE = re.compile(r"(?:\.{3,}|\s\.(?:\s\.)+|\s{2,}|_{3,})\s*(?:pp?\.\s*)?\d{1,4}$")
SENTENCE_END = re.compile(r"[.,;:]$")


@dataclass(frozen=True)
class Line:
    """A line of a document. `size` is the font size in points, 0 if unknown."""

    text: str
    part: int
    size: float = 0.0
    bold: bool = False
    first: bool = False  # no line is above it in its part


def title_number(title: str) -> str:
    """The number at the start of a title, "" if there is none: "5.2" of "Item 5.2: Tables"."""
    match = NUMBERED_HEADING.match(title)
    return next((number for number in match.groups() if number), "") if match else ""


def strip_number(title: str) -> str:
    """The title without its number, or the whole title if it is only a number."""
    match = NUMBERED_HEADING.match(title)
    return (title[match.end() :].strip() if match else "") or title


def number_depth(number: str) -> int:
    return number.count(".") + 1


def looks_like_title(text: str) -> bool:
    """Whether a line is short, has letters, and is neither the end of a sentence nor a table-of-contents entry."""
    words = text.split()
    if not text or len(text) > MAX_TITLE_CHARS or len(words) > MAX_TITLE_WORDS or TABLE_OF_CONTENTS_LINE.search(text):
        return False
    # A wide gap separates columns of a table.
    return any(char.isalpha() for char in text) and not SENTENCE_END.search(text.rstrip()) and "   " not in text.strip()


def is_upper_case(text: str) -> bool:
    """Whether a line is in capitals and too long for an abbreviation."""
    letters = [char for char in text if char.isalpha()]
    return len(letters) >= 6 and all(char.isupper() for char in letters)


def headings_by_size(lines: Sequence[Line]) -> list[tuple[Line, int]]:
    """Lines in a larger font than the body, with their level. Larger fonts have higher levels."""
    weights: Counter[float] = Counter()
    for line in lines:
        weights[_round_points(line.size)] += len(line.text)
    body = weights.most_common(1)[0][0] if weights else 0.0
    large_lines = [
        line for line in lines if _round_points(line.size) >= 1.15 * body > 0 and looks_like_title(line.text)
    ]
    headings = _drop_page_headers(large_lines, lines)
    sizes = sorted({_round_points(line.size) for line in headings}, reverse=True)
    return [(line, min(sizes.index(_round_points(line.size)) + 1, 4)) for line in headings]


def headings_by_wording(lines: Sequence[Line]) -> list[tuple[Line, int]]:
    """Numbered lines and lines in capitals. A line that occurs in an agenda and again later counts where it is last."""
    candidates = _drop_page_headers([line for line in lines if _reads_like_heading(line)], lines)
    last_index = {_line_key(line.text): index for index, line in enumerate(candidates)}
    headings = [line for index, line in enumerate(candidates) if last_index[_line_key(line.text)] == index]
    return [(line, number_depth(title_number(line.text) or "1")) for line in headings]


def _reads_like_heading(line: Line) -> bool:
    if not looks_like_title(line.text):
        return False
    number = title_number(line.text)
    rest = line.text[NUMBERED_HEADING.match(line.text).end() :] if number else line.text  # type: ignore[union-attr]
    return is_upper_case(line.text) or (bool(number) and rest[:1].isupper())


def _drop_page_headers(candidates: Iterable[Line], lines: Sequence[Line]) -> list[Line]:
    """Drops lines that occur on many pages: headers and footers."""
    part_count = len({line.part for line in lines})
    parts_by_key: dict[str, set[int]] = {}
    for line in lines:
        parts_by_key.setdefault(_line_key(line.text), set()).add(line.part)
    header_keys = {key for key, key_parts in parts_by_key.items() if len(key_parts) > max(2, part_count / 4)}
    return [line for line in candidates if _line_key(line.text) not in header_keys][:MAX_HEADINGS]


def _round_points(size: float) -> float:
    return round(size * 2) / 2


def _line_key(text: str) -> str:
    """The line in lower case without a page number at its end."""
    return re.sub(r"\W*\d+\W*$", "", flatten_lines(text)).casefold()
