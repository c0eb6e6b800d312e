"""Reads PDF files: text pages and headings."""

import logging
import re
import struct
import zlib
from collections.abc import Sequence
from io import BytesIO
from typing import TYPE_CHECKING

from librarian.formats.content import Content, Heading, Part, UnreadableFileError, format_range
from librarian.formats.page_headers import strip_page_headers
from librarian.formats.pdf_bookmarks import read_bookmarks
from librarian.formats.pdf_headings import find_headings
from librarian.limits import MAX_DOCUMENT_CHARS, MAX_PDF_PAGES, MIN_PAGE_CHARS
from librarian.text import tidy_text

if TYPE_CHECKING:
    from pypdf import PageObject, PdfReader

SCANNED_PDF = UnreadableFileError(
    "it holds no text: its pages are pictures, as from a scanner, or empty",
    "Run text recognition (OCR) over it and send the result.",
)
LOCKED_PDF = UnreadableFileError("it is locked with a password", "Send a copy without one.")
# Table rows that are set apart come with empty lines between them.
SPACED_ROWS = re.compile(r"^(.*\S {3}\S.*)\n\n(?=.*\S {3}\S)", re.MULTILINE)
RESAVE_HINT = "Open it in a viewer, save it anew and send that."


def pypdf_errors() -> tuple[type[Exception], ...]:
    """The exceptions that pypdf raises for malformed files: its own, and those of its data structures."""
    from pypdf.errors import PyPdfError

    plain = (ArithmeticError, AssertionError, AttributeError, LookupError, NotImplementedError, OSError)
    return (PyPdfError, *plain, RecursionError, TypeError, ValueError, struct.error, zlib.error)


def read_pdf(raw: bytes) -> Content:
    """Reads the file. Raises UnreadableFileError if it is broken, encrypted, too long or has no text."""
    logging.getLogger("pypdf").setLevel(logging.CRITICAL)  # it logs every defect that it tolerates
    reader = _open_reader(raw)
    texts = strip_page_headers([_page_text(page) for page in reader.pages])
    blank = [number for number, text in enumerate(texts, 1) if len(text) < MIN_PAGE_CHARS]
    if len(blank) == len(texts):
        raise SCANNED_PDF
    if sum(map(len, texts)) > MAX_DOCUMENT_CHARS:
        raise UnreadableFileError(f"its text is longer than {MAX_DOCUMENT_CHARS:,} characters", "Send a part of it.")
    parts = tuple(Part(number, text) for number, text in enumerate(texts, 1))
    notes = (f"{_format_page_runs(blank)}: no text there, only pictures or nothing.",) if blank else ()
    return _with_headings(reader, parts, notes)


def _open_reader(raw: bytes) -> "PdfReader":
    from pypdf import PdfReader
    from pypdf.errors import DependencyError, EmptyFileError

    try:
        reader = PdfReader(BytesIO(raw))
        # Many are protected against changes only and open with an empty password.
        if reader.is_encrypted and not reader.decrypt(""):
            raise LOCKED_PDF
        count = len(reader.pages)
    except DependencyError as error:
        raise UnreadableFileError(
            "it is encrypted in a way that cannot be read here", "Send a copy without a password."
        ) from error
    except EmptyFileError as error:
        raise UnreadableFileError("it is empty", "Send it again.") from error
    except pypdf_errors() as error:
        raise UnreadableFileError("it is a broken PDF", RESAVE_HINT) from error
    if not count:
        raise UnreadableFileError("it has no pages", RESAVE_HINT)
    if count > MAX_PDF_PAGES:
        raise UnreadableFileError(f"it has {count:,} pages, and {MAX_PDF_PAGES:,} are read", "Send a part of it.")
    return reader


def _page_text(page: "PageObject") -> str:
    """The text in page layout, so that columns stay separate; rotated text in plain order."""
    try:
        laid_out = SPACED_ROWS.sub(r"\1\n", tidy_text(page.extract_text(extraction_mode="layout")))
    except pypdf_errors():
        laid_out = ""
    if len(laid_out) >= MIN_PAGE_CHARS:
        return laid_out
    try:
        return max(laid_out, tidy_text(page.extract_text()), key=len)
    except pypdf_errors():
        return laid_out


def _with_headings(reader: "PdfReader", parts: tuple[Part, ...], notes: tuple[str, ...]) -> Content:
    try:
        bookmarks: Sequence[Heading] = read_bookmarks(reader)
    except pypdf_errors():
        bookmarks = ()
    if bookmarks:
        return Content("PDF", "p.", parts, tuple(bookmarks), "bookmarks", 1.0, notes)
    try:
        headings, confidence = find_headings(reader)
    except pypdf_errors():
        headings, confidence = [], 0.0
    if headings:
        return Content("PDF", "p.", parts, tuple(headings), "headings", confidence, notes)
    return Content("PDF", "p.", parts, notes=notes)


def _format_page_runs(numbers: Sequence[int]) -> str:
    """Page numbers as text: "pp. 2-4, p. 9"."""
    runs: list[tuple[int, int]] = []
    for number in numbers:
        if runs and runs[-1][1] == number - 1:
            runs[-1] = (runs[-1][0], number)
        else:
            runs.append((number, number))
    return ", ".join(format_range("p.", first, last) for first, last in runs)
