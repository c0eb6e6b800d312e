"""Reads the bookmarks of a PDF as headings."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from librarian.formats.content import Heading
from librarian.limits import MAX_HEADINGS, MAX_OUTLINE_DEPTH, MAX_TITLE_CHARS
from librarian.text import clean_text, flatten_lines, shorten

if TYPE_CHECKING:
    from pypdf import PdfReader

PAGE_TOP_SHARE = 0.82  # of the page's height; a bookmark above it is at the top of its page


def read_bookmarks(reader: "PdfReader") -> list[Heading]:
    """The bookmarks in page order, without those that lead nowhere. Raises pypdf's errors for a broken outline."""
    headings = [
        heading for heading, _ in zip(_walk_outline(reader, reader.outline, 1), range(MAX_HEADINGS), strict=False)
    ]
    return sorted(headings, key=lambda heading: heading.part)


def _walk_outline(reader: "PdfReader", entries: list[Any], level: int) -> Iterator[Heading]:
    for entry in entries:
        if isinstance(entry, list):
            if level < MAX_OUTLINE_DEPTH:
                yield from _walk_outline(reader, entry, level + 1)
            continue
        page = reader.get_destination_page_number(entry)
        title = shorten(flatten_lines(clean_text(str(entry.title or ""))), MAX_TITLE_CHARS)
        if page is not None and page >= 0 and title:
            yield Heading(title, level, page + 1, _points_to_page_top(reader, page, entry.top))


def _points_to_page_top(reader: "PdfReader", page: int, top: object) -> bool:
    """Whether the bookmark points to the top of its page. Without a height it points to the whole page."""
    if not isinstance(top, int | float):
        return True
    box = reader.pages[page].mediabox
    return float(top) - float(box.bottom) >= PAGE_TOP_SHARE * float(box.height)
