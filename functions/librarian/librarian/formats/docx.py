"""Reads Word documents (.docx): headings, paragraphs, lists and tables.

Uses zipfile and defusedxml: python-docx and docx2python need lxml, which is larger than all other dependencies.
Source of the element names: ECMA-376, part 1, WordprocessingML.
"""

import re
from collections.abc import Iterator, Mapping
from io import BytesIO
from typing import TYPE_CHECKING
from zipfile import BadZipFile, ZipFile
from zlib import error as ZlibError  # noqa: N812 - an error, named like one

from librarian.formats.content import Content, UnreadableFileError
from librarian.formats.sections import TextBlock, make_sections
from librarian.limits import MAX_UNZIPPED_BYTES

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
BODY, STYLES = "word/document.xml", "word/styles.xml"
HEADING_CONFIDENCE = 0.95
TITLE_LEVEL = 1  # above all heading levels
HEADING_STYLE = re.compile(r"heading ([1-9])", re.IGNORECASE)
# Text boxes occur twice, for older programs; deleted text is invisible.
SKIPPED_TAGS = ("{http://schemas.openxmlformats.org/markup-compatibility/2006}Fallback", f"{W}del", f"{W}moveFrom")
CHARACTER_TAGS = {f"{W}tab": "\t", f"{W}br": "\n", f"{W}cr": "\n", f"{W}noBreakHyphen": "-"}
# What zipfile raises for damaged or encrypted archives.
ZIP_ERRORS = (BadZipFile, KeyError, NotImplementedError, OSError, RuntimeError, ValueError, ZlibError)
BROKEN_DOCUMENT = UnreadableFileError("it is a broken Word document", "Open it in Word, save it anew and send that.")


def is_docx(raw: bytes) -> bool:
    try:
        with ZipFile(BytesIO(raw)) as archive:
            return BODY in archive.namelist()
    except ZIP_ERRORS:
        return False


def read_docx(raw: bytes) -> Content:
    """Reads the document. Raises UnreadableFileError if it is broken, too large when unpacked, or has no text."""
    try:
        with ZipFile(BytesIO(raw)) as archive:
            body = _read_part(archive, BODY)
            styles = _read_part(archive, STYLES) if STYLES in archive.namelist() else None
    except ZIP_ERRORS as error:
        raise BROKEN_DOCUMENT from error
    levels = _style_levels(styles) if styles is not None else {}
    try:
        blocks = list(_read_blocks(body, levels))
    except RecursionError as error:
        raise BROKEN_DOCUMENT from error
    return make_sections("Word", blocks, HEADING_CONFIDENCE)


def _read_part(archive: ZipFile, name: str) -> "Element":
    """The root element of a part. Unpacks no more than the limit, because declared sizes can be wrong."""
    from xml.etree.ElementTree import ParseError

    from defusedxml import DefusedXmlException
    from defusedxml.ElementTree import fromstring

    with archive.open(name) as file:
        data = file.read(MAX_UNZIPPED_BYTES + 1)
    if len(data) > MAX_UNZIPPED_BYTES:
        raise UnreadableFileError(f"it unpacks to more than {MAX_UNZIPPED_BYTES // 1_000_000} MB", "Send a part of it.")
    try:
        root: Element = fromstring(data, forbid_dtd=True)
    except (ParseError, DefusedXmlException, ValueError) as error:
        raise BROKEN_DOCUMENT from error
    return root


def _style_levels(styles: "Element") -> dict[str, int]:
    """Style id → heading level, inherited levels included."""
    levels: dict[str, int] = {}
    parents: dict[str, str] = {}
    for style in styles.iter(f"{W}style"):
        style_id = style.get(f"{W}styleId", "")
        name, outline = _attribute_value(style, "name"), _attribute_value(style, f"pPr/{W}outlineLvl")
        parents[style_id] = _attribute_value(style, "basedOn")
        if match := HEADING_STYLE.fullmatch(name):
            levels[style_id] = TITLE_LEVEL + int(match[1])
        elif name.lower() == "title":
            levels[style_id] = TITLE_LEVEL
        elif outline.isdigit() and int(outline) < 9:
            levels[style_id] = TITLE_LEVEL + int(outline) + 1
    return {style_id: level for style_id in parents if (level := _inherited_level(style_id, levels, parents))}


def _inherited_level(style_id: str, levels: Mapping[str, int], parents: Mapping[str, str]) -> int:
    visited: set[str] = set()
    while style_id and style_id not in visited:
        if style_id in levels:
            return levels[style_id]
        visited.add(style_id)
        style_id = parents.get(style_id, "")
    return 0


def _read_blocks(element: "Element", levels: Mapping[str, int]) -> Iterator[TextBlock]:
    """Paragraphs and table rows in their order. The cells of a row are on one line."""
    for child in element:
        if child.tag == f"{W}p":
            yield _read_paragraph(child, levels)
        elif child.tag == f"{W}tr":
            cells = (" ".join(_text_of(cell).split()) for cell in child.iter(f"{W}tc"))
            yield TextBlock(" | ".join(cells))
        elif child.tag not in SKIPPED_TAGS:
            yield from _read_blocks(child, levels)


def _read_paragraph(paragraph: "Element", levels: Mapping[str, int]) -> TextBlock:
    text = _text_of(paragraph)
    outline = _attribute_value(paragraph, f"pPr/{W}outlineLvl")
    level = TITLE_LEVEL + int(outline) + 1 if outline.isdigit() and int(outline) < 9 else 0
    level = level or levels.get(_attribute_value(paragraph, f"pPr/{W}pStyle"), 0)
    is_list_item = not level and paragraph.find(f"{W}pPr/{W}numPr") is not None
    return TextBlock(f"- {text}" if is_list_item and text.strip() else text, level)


def _text_of(element: "Element") -> str:
    return "".join(_text_runs(element))


def _text_runs(element: "Element") -> Iterator[str]:
    for child in element:
        if child.tag == f"{W}t":
            yield child.text or ""
        elif child.tag in CHARACTER_TAGS:
            yield CHARACTER_TAGS[child.tag]
        elif child.tag not in SKIPPED_TAGS:
            yield from _text_runs(child)
            if child.tag == f"{W}p":
                yield "\n"


def _attribute_value(element: "Element", path: str) -> str:
    """The w:val attribute of the element at the path, "" if there is none."""
    child = element.find(f"{W}{path}")
    return child.get(f"{W}val", "") if child is not None else ""
