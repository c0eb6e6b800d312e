"""A Word document (.docx) to its headings, paragraphs, lists and tables.

Read with zipfile and defusedxml: python-docx and docx2python bring lxml, which weighs more than all else here together.
Source of the element names: ECMA-376, part 1, WordprocessingML.
"""

import re
from collections.abc import Iterator, Mapping
from io import BytesIO
from typing import TYPE_CHECKING
from zipfile import BadZipFile, ZipFile
from zlib import error as ZlibError  # noqa: N812 - an error, named like one

from librarian.formats.content import Content, Unreadable
from librarian.formats.sections import Block, in_sections
from librarian.limits import UNZIPPED_BYTES

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
BODY, STYLES = "word/document.xml", "word/styles.xml"
SURE = 0.95
TITLE = 1  # above all headings
HEADING = re.compile(r"heading ([1-9])", re.IGNORECASE)
# Text boxes are there twice, for older programs; what was deleted is not there for a reader.
SKIPPED = ("{http://schemas.openxmlformats.org/markup-compatibility/2006}Fallback", f"{W}del", f"{W}moveFrom")
SIGNS = {f"{W}tab": "\t", f"{W}br": "\n", f"{W}cr": "\n", f"{W}noBreakHyphen": "-"}
# What zipfile raises over archives that are damaged or locked.
NO_ZIP = (BadZipFile, KeyError, NotImplementedError, OSError, RuntimeError, ValueError, ZlibError)
BROKEN = Unreadable("it is a broken Word document", "Open it in Word, save it anew and send that.")


def is_docx(raw: bytes) -> bool:
    try:
        with ZipFile(BytesIO(raw)) as archive:
            return BODY in archive.namelist()
    except NO_ZIP:
        return False


def read_docx(raw: bytes) -> Content:
    """Raises Unreadable for a file that is broken, unpacks to too much, or holds no text."""
    try:
        with ZipFile(BytesIO(raw)) as archive:
            body = _part(archive, BODY)
            styles = _part(archive, STYLES) if STYLES in archive.namelist() else None
    except NO_ZIP as error:
        raise BROKEN from error
    levels = _levels(styles) if styles is not None else {}
    try:
        blocks = list(_blocks(body, levels))
    except RecursionError as error:
        raise BROKEN from error
    return in_sections("Word", blocks, SURE)


def _part(archive: ZipFile, name: str) -> "Element":
    """The root of a part. Declared sizes may lie, so no more than the limit is unpacked."""
    from xml.etree.ElementTree import ParseError

    from defusedxml import DefusedXmlException
    from defusedxml.ElementTree import fromstring

    with archive.open(name) as file:
        data = file.read(UNZIPPED_BYTES + 1)
    if len(data) > UNZIPPED_BYTES:
        raise Unreadable(f"it unpacks to more than {UNZIPPED_BYTES // 1_000_000} MB", "Send a part of it.")
    try:
        root: Element = fromstring(data, forbid_dtd=True)
    except (ParseError, DefusedXmlException, ValueError) as error:
        raise BROKEN from error
    return root


def _levels(styles: "Element") -> dict[str, int]:
    """Id of a style → level of its headings, inherited ones included."""
    own: dict[str, int] = {}
    parents: dict[str, str] = {}
    for style in styles.iter(f"{W}style"):
        key = style.get(f"{W}styleId", "")
        name, outline = _value(style, "name"), _value(style, f"pPr/{W}outlineLvl")
        parents[key] = _value(style, "basedOn")
        if found := HEADING.fullmatch(name):
            own[key] = TITLE + int(found[1])
        elif name.lower() == "title":
            own[key] = TITLE
        elif outline.isdigit() and int(outline) < 9:
            own[key] = TITLE + int(outline) + 1
    return {key: level for key in parents if (level := _inherited(key, own, parents))}


def _inherited(key: str, own: Mapping[str, int], parents: Mapping[str, str]) -> int:
    seen: set[str] = set()
    while key and key not in seen:
        if key in own:
            return own[key]
        seen.add(key)
        key = parents.get(key, "")
    return 0


def _blocks(element: "Element", levels: Mapping[str, int]) -> Iterator[Block]:
    """Paragraphs and rows of tables, in their order; a table's cells stand on one line."""
    for child in element:
        if child.tag == f"{W}p":
            yield _paragraph(child, levels)
        elif child.tag == f"{W}tr":
            cells = (" ".join(_text(cell).split()) for cell in child.iter(f"{W}tc"))
            yield Block(" | ".join(cells))
        elif child.tag not in SKIPPED:
            yield from _blocks(child, levels)


def _paragraph(paragraph: "Element", levels: Mapping[str, int]) -> Block:
    text = _text(paragraph)
    outline = _value(paragraph, f"pPr/{W}outlineLvl")
    level = TITLE + int(outline) + 1 if outline.isdigit() and int(outline) < 9 else 0
    level = level or levels.get(_value(paragraph, f"pPr/{W}pStyle"), 0)
    listed = not level and paragraph.find(f"{W}pPr/{W}numPr") is not None
    return Block(f"- {text}" if listed and text.strip() else text, level)


def _text(element: "Element") -> str:
    return "".join(_pieces(element))


def _pieces(element: "Element") -> Iterator[str]:
    for child in element:
        if child.tag == f"{W}t":
            yield child.text or ""
        elif child.tag in SIGNS:
            yield SIGNS[child.tag]
        elif child.tag not in SKIPPED:
            yield from _pieces(child)
            if child.tag == f"{W}p":
                yield "\n"


def _value(element: "Element", path: str) -> str:
    """The w:val of what the path leads to, "" where there is none."""
    found = element.find(f"{W}{path}")
    return found.get(f"{W}val", "") if found is not None else ""
