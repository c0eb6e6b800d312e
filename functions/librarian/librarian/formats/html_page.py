"""A web page to its headings and paragraphs. What only a browser reads is left out."""

import re
from html.parser import HTMLParser

from librarian.formats.content import Content
from librarian.formats.sections import Block, in_sections

SURE = 0.95
HIDDEN = frozenset({"script", "style", "template", "noscript", "svg", "head", "iframe", "object", "select", "canvas"})
HEADINGS = {f"h{level}": level for level in range(1, 7)}
FLOW = """address article aside blockquote body caption center dd details dialog div dl dt fieldset figcaption figure
footer form header hgroup hr html legend li main menu nav ol p pre section summary table tbody tfoot thead tr ul"""
BLOCKS = frozenset(FLOW.split())
CELLS = frozenset({"td", "th"})
CELL = "\x1f"  # parts cells until their row is whole


def read_html(text: str) -> Content:
    """Raises Unreadable for a page without text."""
    page = _Page()
    page.feed(text)
    page.close()
    page.end_block()
    return in_sections("HTML", page.blocks, SURE)


class _Page(HTMLParser):
    """Collects blocks. A tag that is never closed does no harm: only hidden ones are counted."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.blocks: list[Block] = []
        self._text: list[str] = []
        self._level = 0
        self._hidden: list[str] = []
        self._pre = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "body":
            self._hidden.clear()  # a head need not be closed
        if tag in HIDDEN:
            self._hidden.append(tag)
        elif tag in HEADINGS:
            self.end_block()
            self._level = HEADINGS[tag]
        elif tag in BLOCKS:
            self.end_block()
            self._pre += tag == "pre"
            self._text += ["- "] if tag == "li" else []
        elif tag == "br":
            self._text.append("\n")
        elif tag in CELLS:
            self._text.append(CELL)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in HIDDEN:
            self.handle_starttag(tag, attrs)

    def handle_endtag(self, tag: str) -> None:
        if tag in self._hidden:
            del self._hidden[self._hidden.index(tag) :]
        elif tag in HEADINGS or tag in BLOCKS:
            self.end_block()
            self._pre = max(0, self._pre - (tag == "pre"))

    def handle_data(self, data: str) -> None:
        if not self._hidden:
            self._text.append(data if self._pre else re.sub(r"\s+", " ", data))

    def end_block(self) -> None:
        text = "".join(self._text).strip().strip(CELL)
        self._text.clear()
        if text.strip("- "):
            self.blocks.append(Block(" | ".join(cell.strip() for cell in text.split(CELL)), self._level))
        self._level = 0
