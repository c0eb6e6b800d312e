"""The bookmarks of a PDF as marks."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from librarian.formats.content import Mark
from librarian.limits import MOST_MARKS, OUTLINE_DEPTH, TITLE_CHARS
from librarian.text import clean, flat, shortened

if TYPE_CHECKING:
    from pypdf import PdfReader

NEAR_TOP = 0.82  # of a page's height: a bookmark above it opens its page


def bookmarks(reader: "PdfReader") -> list[Mark]:
    """In the order of pages; those that lead nowhere are left out. Raises what pypdf does over a broken outline."""
    marks = [mark for mark, _ in zip(_marks(reader, reader.outline, 1), range(MOST_MARKS), strict=False)]
    return sorted(marks, key=lambda mark: mark.part)


def _marks(reader: "PdfReader", entries: list[Any], level: int) -> Iterator[Mark]:
    for entry in entries:
        if isinstance(entry, list):
            if level < OUTLINE_DEPTH:
                yield from _marks(reader, entry, level + 1)
            continue
        page = reader.get_destination_page_number(entry)
        title = shortened(flat(clean(str(entry.title or ""))), TITLE_CHARS)
        if page is not None and page >= 0 and title:
            yield Mark(title, level, page + 1, _opens(reader, page, entry.top))


def _opens(reader: "PdfReader", page: int, top: object) -> bool:
    """Whether the bookmark points to the top of its page. One that names no height points to the page."""
    if not isinstance(top, int | float):
        return True
    box = reader.pages[page].mediabox
    return float(top) - float(box.bottom) >= NEAR_TOP * float(box.height)
