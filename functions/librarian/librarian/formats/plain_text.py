"""Reads plain text and Markdown: as pages if form feeds separate them, else as sections."""

from collections.abc import Iterator

from librarian.formats.content import Content, Heading, Part
from librarian.formats.headings import Line, headings_by_wording
from librarian.formats.sections import NO_TEXT, TextBlock, make_sections
from librarian.text import clean_text, tidy_text

PAGE_BREAK = "\f"
HEADING_CONFIDENCE = 0.95  # in headings that the format marks


def read_text(text: str) -> Content:
    """Reads plain text. Raises UnreadableFileError for blank text."""
    if PAGE_BREAK in text.strip():
        return _read_pages(text)
    paragraphs = clean_text(text).split("\n\n")
    return make_sections("text", (TextBlock(paragraph) for paragraph in paragraphs), HEADING_CONFIDENCE)


def read_markdown(text: str) -> Content:
    """Reads Markdown, which the sections keep. Raises UnreadableFileError for blank text."""
    return make_sections("Markdown", _markdown_blocks(clean_text(text)), HEADING_CONFIDENCE)


def _read_pages(text: str) -> Content:
    parts = tuple(
        Part(number, tidy_text(page)) for number, page in enumerate(text.rstrip(PAGE_BREAK).split(PAGE_BREAK), 1)
    )
    if not any(part.text for part in parts):
        raise NO_TEXT
    lines = [
        Line(line, part.number, first=not index)
        for part in parts
        for index, line in enumerate(filter(None, part.text.split("\n")))
    ]
    headings = tuple(Heading(line.text, level, line.part, line.first) for line, level in headings_by_wording(lines))
    if len(headings) < 2:
        return Content("text", "p.", parts)
    return Content("text", "p.", parts, headings, "headings", 0.5)


def _markdown_blocks(text: str) -> Iterator[TextBlock]:
    """Blocks between headings. A parser finds the headings, because a # in a code block is none."""
    from markdown_it import MarkdownIt

    lines = text.split("\n")
    tokens = MarkdownIt("commonmark").parse(text)
    next_line = 0
    for index, token in enumerate(tokens):
        if token.type == "heading_open" and token.level == 0 and token.map:
            first, end = token.map
            yield TextBlock("\n".join(lines[next_line:first]))
            yield TextBlock(tokens[index + 1].content, int(token.tag[1]))
            next_line = end
    yield TextBlock("\n".join(lines[next_line:]))
