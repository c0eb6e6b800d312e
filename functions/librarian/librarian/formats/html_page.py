"""Reads web pages: headings and paragraphs, without scripts, styles and other hidden elements."""

import re
from html.parser import HTMLParser

from librarian.formats.content import Content
from librarian.formats.sections import TextBlock, make_sections

HEADING_CONFIDENCE = 0.95
HIDDEN_TAGS = frozenset(
    {"script", "style", "template", "noscript", "svg", "head", "iframe", "object", "select", "canvas"}
)
HEADING_LEVELS = {f"h{level}": level for level in range(1, 7)}
BLOCK_TAG_NAMES = """
address article aside blockquote body caption center dd details dialog div dl dt fieldset figcaption figure
footer form header hgroup hr html legend li main menu nav ol p pre section summary table tbody tfoot thead tr ul"""
BLOCK_TAGS = frozenset(BLOCK_TAG_NAMES.split())
CELL_TAGS = frozenset({"td", "th"})
CELL_SEPARATOR = "\x1f"  # separates cells until their row is complete


def read_html(text: str) -> Content:
    """Reads the page. Raises UnreadableFileError if it has no text."""
    page = _BlockParser()
    page.feed(text)
    page.close()
    page.end_block()
    return make_sections("HTML", page.blocks, HEADING_CONFIDENCE)


class _BlockParser(HTMLParser):
    """Collects blocks. Unclosed tags do no harm, because only hidden ones are counted."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.blocks: list[TextBlock] = []
        self._text: list[str] = []
        self._level = 0
        self._hidden: list[str] = []
        self._pre = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "body":
            self._hidden.clear()  # HTML allows an unclosed head
        if tag in HIDDEN_TAGS:
            self._hidden.append(tag)
        elif tag in HEADING_LEVELS:
            self.end_block()
            self._level = HEADING_LEVELS[tag]
        elif tag in BLOCK_TAGS:
            self.end_block()
            self._pre += tag == "pre"
            self._text += ["- "] if tag == "li" else []
        elif tag == "br":
            self._text.append("\n")
        elif tag in CELL_TAGS:
            self._text.append(CELL_SEPARATOR)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in HIDDEN_TAGS:
            self.handle_starttag(tag, attrs)

    def handle_endtag(self, tag: str) -> None:
        if tag in self._hidden:
            del self._hidden[self._hidden.index(tag) :]
        elif tag in HEADING_LEVELS or tag in BLOCK_TAGS:
            self.end_block()
            self._pre = max(0, self._pre - (tag == "pre"))

    def handle_data(self, data: str) -> None:
        if not self._hidden:
            self._text.append(data if self._pre else re.sub(r"\s+", " ", data))

    def end_block(self) -> None:
        text = "".join(self._text).strip().strip(CELL_SEPARATOR)
        self._text.clear()
        if text.strip("- "):
            self.blocks.append(TextBlock(" | ".join(cell.strip() for cell in text.split(CELL_SEPARATOR)), self._level))
        self._level = 0
