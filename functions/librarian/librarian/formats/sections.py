"""A document without pages as sections: each heading begins one."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from librarian.formats.content import Content, Mark, Part, Unreadable
from librarian.formats.headings import Line, by_wording
from librarian.limits import DOCUMENT_CHARS, MOST_MARKS, PART_CHARS, TITLE_CHARS
from librarian.text import flat, shortened, tidy

EMPTY = Unreadable("there is no text in it", "Send a document with text.")


@dataclass(frozen=True)
class Block:
    """A paragraph, a row, a line of a list; a heading where `level` is not 0."""

    text: str
    level: int = 0


def in_sections(format_: str, blocks: Iterable[Block], confidence: float) -> Content:
    """Sections by the headings that the format names, else by lines that look like them, else by length.

    `confidence` is that in the format's own headings. Raises Unreadable where no text is in it.
    """
    tidied = [replace(block, text=tidy(block.text)) for block in blocks]
    filled = [block for block in tidied if block.text]
    if not filled:
        raise EMPTY
    if sum(len(block.text) for block in filled) > DOCUMENT_CHARS:
        raise Unreadable(f"its text is longer than {DOCUMENT_CHARS:,} characters", "Send a part of it.")
    if not any(block.level for block in filled):
        filled, confidence = _worded(filled), 0.5
    if not any(block.level for block in filled):
        return Content(format_, "§", tuple(_by_length(filled)))
    return _by_heading(format_, filled, confidence)


def _worded(blocks: Sequence[Block]) -> list[Block]:
    """With the lines that read like headings as headings."""
    lines = [Line(line, 1) for block in blocks for line in block.text.split("\n")]
    levels = {id(line): level for line, level in by_wording(lines)}
    if len(levels) < 2:
        return list(blocks)
    made: list[Block] = []
    for line in lines:
        level = levels.get(id(line), 0)
        if level or not made or made[-1].level:
            made.append(Block(line.text, level))
        else:
            made[-1] = Block(f"{made[-1].text}\n{line.text}")
    return made


def _by_heading(format_: str, blocks: Sequence[Block], confidence: float) -> Content:
    groups: list[list[Block]] = [[]]
    for block in blocks:
        if block.level and groups[-1] and len(groups) < MOST_MARKS:
            groups.append([])
        groups[-1].append(block)
    parts = tuple(Part(number, _joined(group)) for number, group in enumerate(groups, 1))
    marks = tuple(
        Mark(shortened(flat(group[0].text), TITLE_CHARS), group[0].level, number)
        for number, group in enumerate(groups, 1)
        if group[0].level
    )
    return Content(format_, "§", parts, marks, "headings", confidence)


def _by_length(blocks: Sequence[Block]) -> Iterable[Part]:
    text = _joined(blocks)
    number = 0
    while text:
        number += 1
        cut = len(text) if len(text) <= PART_CHARS else _break(text)
        yield Part(number, text[:cut].strip())
        text = text[cut:].lstrip()


def _break(text: str) -> int:
    """The end of the last paragraph, line or word that fits."""
    window = text[:PART_CHARS]
    return next((place for sign in ("\n\n", "\n", " ") if (place := window.rfind(sign)) > PART_CHARS // 2), PART_CHARS)


def _joined(blocks: Iterable[Block]) -> str:
    """Rows of a table and lines of a list stay together."""
    made = ""
    before = False
    for block in blocks:
        close = block.text.startswith("- ") or " | " in block.text
        made += ("\n" if close and before else "\n\n" if made else "") + block.text
        before = close
    return made
