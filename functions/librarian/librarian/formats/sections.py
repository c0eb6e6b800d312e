"""Splits documents without pages into sections: each heading starts one."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from librarian.formats.content import Content, Heading, Part, UnreadableFileError
from librarian.formats.headings import Line, headings_by_wording
from librarian.limits import MAX_DOCUMENT_CHARS, MAX_HEADINGS, MAX_SECTION_CHARS, MAX_TITLE_CHARS
from librarian.text import flatten_lines, shorten, tidy_text

NO_TEXT = UnreadableFileError("there is no text in it", "Send a document with text.")


@dataclass(frozen=True)
class TextBlock:
    """A paragraph, table row or list line, or a heading if `level` is not 0."""

    text: str
    level: int = 0


def make_sections(format_: str, blocks: Iterable[TextBlock], confidence: float) -> Content:
    """Splits by the format's headings, else by lines that look like headings, else by length.

    `confidence` applies to the format's headings. Raises UnreadableFileError if there is no text.
    """
    tidied = [replace(block, text=tidy_text(block.text)) for block in blocks]
    filled = [block for block in tidied if block.text]
    if not filled:
        raise NO_TEXT
    if sum(len(block.text) for block in filled) > MAX_DOCUMENT_CHARS:
        raise UnreadableFileError(f"its text is longer than {MAX_DOCUMENT_CHARS:,} characters", "Send a part of it.")
    if not any(block.level for block in filled):
        filled, confidence = _mark_headings(filled), 0.5
    if not any(block.level for block in filled):
        return Content(format_, "§", tuple(_split_by_length(filled)))
    return _split_by_heading(format_, filled, confidence)


def _mark_headings(blocks: Sequence[TextBlock]) -> list[TextBlock]:
    """Turns lines that look like headings into headings."""
    lines = [Line(line, 1) for block in blocks for line in block.text.split("\n")]
    levels = {id(line): level for line, level in headings_by_wording(lines)}
    if len(levels) < 2:
        return list(blocks)
    marked: list[TextBlock] = []
    for line in lines:
        level = levels.get(id(line), 0)
        if level or not marked or marked[-1].level:
            marked.append(TextBlock(line.text, level))
        else:
            marked[-1] = TextBlock(f"{marked[-1].text}\n{line.text}")
    return marked


def _split_by_heading(format_: str, blocks: Sequence[TextBlock], confidence: float) -> Content:
    groups: list[list[TextBlock]] = [[]]
    for block in blocks:
        if block.level and groups[-1] and len(groups) < MAX_HEADINGS:
            groups.append([])
        groups[-1].append(block)
    parts = tuple(Part(number, _join_blocks(group)) for number, group in enumerate(groups, 1))
    headings = tuple(
        Heading(shorten(flatten_lines(group[0].text), MAX_TITLE_CHARS), group[0].level, number)
        for number, group in enumerate(groups, 1)
        if group[0].level
    )
    return Content(format_, "§", parts, headings, "headings", confidence)


def _split_by_length(blocks: Sequence[TextBlock]) -> Iterable[Part]:
    text = _join_blocks(blocks)
    number = 0
    while text:
        number += 1
        cut = len(text) if len(text) <= MAX_SECTION_CHARS else _break_position(text)
        yield Part(number, text[:cut].strip())
        text = text[cut:].lstrip()


def _break_position(text: str) -> int:
    """Where to cut: the end of the last paragraph, line or word that fits."""
    window = text[:MAX_SECTION_CHARS]
    return next(
        (
            position
            for separator in ("\n\n", "\n", " ")
            if (position := window.rfind(separator)) > MAX_SECTION_CHARS // 2
        ),
        MAX_SECTION_CHARS,
    )


def _join_blocks(blocks: Iterable[TextBlock]) -> str:
    """Joins blocks by empty lines, but table rows and list lines by line ends."""
    text = ""
    previous_close = False
    for block in blocks:
        is_close = block.text.startswith("- ") or " | " in block.text
        text += ("\n" if is_close and previous_close else "\n\n" if text else "") + block.text
        previous_close = is_close
    return text
