"""The headings of a PDF without bookmarks, by the size of their letters or by their wording."""

import math
from typing import TYPE_CHECKING, Any

from librarian.formats.content import Mark
from librarian.formats.headings import Line, by_size, by_wording
from librarian.limits import TITLE_CHARS
from librarian.text import clean, flat, shortened

if TYPE_CHECKING:
    from pypdf import PageObject, PdfReader

BY_SIZE, BY_WORDING = 0.8, 0.5
FEWEST = 2


def headings(reader: "PdfReader") -> tuple[list[Mark], float]:
    """The marks and the confidence in them; none where too few lines look like headings."""
    lines = [line for number, page in enumerate(reader.pages, 1) for line in _lines(page, number)]
    for find, confidence in ((by_size, BY_SIZE), (by_wording, BY_WORDING)):
        found = find(lines)
        if len(found) >= FEWEST:
            return [
                Mark(shortened(flat(line.text), TITLE_CHARS), level, line.part, line.first) for line, level in found
            ], confidence
    return [], 0.0


def _lines(page: "PageObject", number: int) -> list[Line]:
    """The lines of a page with the size of their largest letters."""
    pieces: list[tuple[str, float]] = []

    def see(text: str, shift: Any, matrix: Any, font: Any, size: Any) -> None:
        scale = math.hypot(matrix[1], matrix[3]) * math.hypot(shift[1], shift[3])
        pieces.append((text, float(size or 0) * scale))

    page.extract_text(visitor_text=see)
    lines: list[Line] = []
    text, largest = "", 0.0
    for piece, size in [*pieces, ("\n", 0.0)]:
        for place, stretch in enumerate(piece.split("\n")):
            if place:
                if said := clean(text).strip():
                    lines.append(Line(said, number, largest, first=not lines))
                text, largest = "", 0.0
            text += stretch
            largest = max(largest, size if stretch.strip() else 0.0)
    return lines
