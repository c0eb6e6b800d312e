"""Finds headings in a PDF without bookmarks, by font size or by wording."""

import math
from typing import TYPE_CHECKING, Any

from librarian.formats.content import Heading
from librarian.formats.headings import Line, headings_by_size, headings_by_wording
from librarian.limits import MAX_TITLE_CHARS
from librarian.text import clean_text, flatten_lines, shorten

if TYPE_CHECKING:
    from pypdf import PageObject, PdfReader

SIZE_CONFIDENCE, WORDING_CONFIDENCE = 0.8, 0.5
MIN_HEADINGS = 2


def find_headings(reader: "PdfReader") -> tuple[list[Heading], float]:
    """The headings and the confidence in them, none if too few lines look like headings."""
    lines = [line for number, page in enumerate(reader.pages, 1) for line in _page_lines(page, number)]
    for find, confidence in ((headings_by_size, SIZE_CONFIDENCE), (headings_by_wording, WORDING_CONFIDENCE)):
        headings = find(lines)
        if len(headings) >= MIN_HEADINGS:
            return [
                Heading(shorten(flatten_lines(line.text), MAX_TITLE_CHARS), level, line.part, line.first)
                for line, level in headings
            ], confidence
    return [], 0.0


def _page_lines(page: "PageObject", number: int) -> list[Line]:
    """The lines of a page with their largest font size."""
    pieces: list[tuple[str, float]] = []

    def collect(text: str, transform: Any, matrix: Any, font: Any, size: Any) -> None:
        scale = math.hypot(matrix[1], matrix[3]) * math.hypot(transform[1], transform[3])
        pieces.append((text, float(size or 0) * scale))

    page.extract_text(visitor_text=collect)
    lines: list[Line] = []
    text, largest = "", 0.0
    for piece, size in [*pieces, ("\n", 0.0)]:
        for index, segment in enumerate(piece.split("\n")):
            if index:
                if cleaned := clean_text(text).strip():
                    lines.append(Line(cleaned, number, largest, first=not lines))
                text, largest = "", 0.0
            text += segment
            largest = max(largest, size if segment.strip() else 0.0)
    return lines
