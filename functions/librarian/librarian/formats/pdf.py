"""A PDF to its pages of text and its items."""

import logging
import re
import struct
import zlib
from collections.abc import Sequence
from io import BytesIO
from typing import TYPE_CHECKING

from librarian.formats.content import Content, Mark, Part, Unreadable, span
from librarian.formats.page_headers import without_running
from librarian.formats.pdf_bookmarks import bookmarks
from librarian.formats.pdf_headings import headings
from librarian.limits import BLANK_PAGE, DOCUMENT_CHARS, PDF_PAGES
from librarian.text import tidy

if TYPE_CHECKING:
    from pypdf import PageObject, PdfReader

SCAN = Unreadable(
    "it holds no text: its pages are pictures, as from a scanner, or empty",
    "Run text recognition (OCR) over it and send the result.",
)
LOCKED = Unreadable("it is locked with a password", "Send a copy without one.")
# Rows of a table are laid out with empty lines between them where they are set apart.
ROWS = re.compile(r"^(.*\S {3}\S.*)\n\n(?=.*\S {3}\S)", re.MULTILINE)
REMEDY = "Open it in a viewer, save it anew and send that."


def broken() -> tuple[type[Exception], ...]:
    """What pypdf raises over files that are not as they should be: its own errors, and those of its dictionaries."""
    from pypdf.errors import PyPdfError

    plain = (ArithmeticError, AssertionError, AttributeError, LookupError, NotImplementedError, OSError)
    return (PyPdfError, *plain, RecursionError, TypeError, ValueError, struct.error, zlib.error)


def read_pdf(raw: bytes) -> Content:
    """Raises Unreadable for a file that is broken, locked, too long, or without any text."""
    logging.getLogger("pypdf").setLevel(logging.CRITICAL)  # it tells of every flaw that it reads over
    reader = _open(raw)
    texts = without_running([_text(page) for page in reader.pages])
    blank = [number for number, text in enumerate(texts, 1) if len(text) < BLANK_PAGE]
    if len(blank) == len(texts):
        raise SCAN
    if sum(map(len, texts)) > DOCUMENT_CHARS:
        raise Unreadable(f"its text is longer than {DOCUMENT_CHARS:,} characters", "Send a part of it.")
    parts = tuple(Part(number, text) for number, text in enumerate(texts, 1))
    notes = (f"{_runs(blank)}: no text there, only pictures or nothing.",) if blank else ()
    return _with_items(reader, parts, notes)


def _open(raw: bytes) -> "PdfReader":
    from pypdf import PdfReader
    from pypdf.errors import DependencyError, EmptyFileError

    try:
        reader = PdfReader(BytesIO(raw))
        # Many are locked against changes only, and open with an empty password.
        if reader.is_encrypted and not reader.decrypt(""):
            raise LOCKED
        count = len(reader.pages)
    except DependencyError as error:
        raise Unreadable(
            "it is encrypted in a way that cannot be read here", "Send a copy without a password."
        ) from error
    except EmptyFileError as error:
        raise Unreadable("it is empty", "Send it again.") from error
    except broken() as error:
        raise Unreadable("it is a broken PDF", REMEDY) from error
    if not count:
        raise Unreadable("it has no pages", REMEDY)
    if count > PDF_PAGES:
        raise Unreadable(f"it has {count:,} pages, and {PDF_PAGES:,} are read", "Send a part of it.")
    return reader


def _text(page: "PageObject") -> str:
    """Laid out as on the page, so that columns stay apart; text that is turned on its side comes in plain order."""
    try:
        laid_out = ROWS.sub(r"\1\n", tidy(page.extract_text(extraction_mode="layout")))
    except broken():
        laid_out = ""
    if len(laid_out) >= BLANK_PAGE:
        return laid_out
    try:
        return max(laid_out, tidy(page.extract_text()), key=len)
    except broken():
        return laid_out


def _with_items(reader: "PdfReader", parts: tuple[Part, ...], notes: tuple[str, ...]) -> Content:
    try:
        marks: Sequence[Mark] = bookmarks(reader)
    except broken():
        marks = ()
    if marks:
        return Content("PDF", "p.", parts, tuple(marks), "bookmarks", 1.0, notes)
    try:
        found, confidence = headings(reader)
    except broken():
        found, confidence = [], 0.0
    if found:
        return Content("PDF", "p.", parts, tuple(found), "headings", confidence, notes)
    return Content("PDF", "p.", parts, notes=notes)


def _runs(numbers: Sequence[int]) -> str:
    """As "pp. 2-4, p. 9"."""
    runs: list[tuple[int, int]] = []
    for number in numbers:
        if runs and runs[-1][1] == number - 1:
            runs[-1] = (runs[-1][0], number)
        else:
            runs.append((number, number))
    return ", ".join(span("p.", first, last) for first, last in runs)
