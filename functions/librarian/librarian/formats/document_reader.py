"""Reads a document file. Its format is detected from its content."""

import re
from pathlib import Path

from librarian.formats.content import Content, UnreadableFileError
from librarian.formats.docx import is_docx, read_docx
from librarian.formats.html_page import read_html
from librarian.formats.pdf import read_pdf
from librarian.formats.plain_text import read_markdown, read_text
from librarian.formats.text_encoding import decode_text
from librarian.limits import MAX_FILE_BYTES

SUPPORTED_FORMATS_HINT = "Send it as PDF, .docx, HTML, Markdown or plain text."
# The first bytes of file types that people attach by mistake.
SIGNATURES = (
    (
        b"\xd0\xcf\x11\xe0",
        "it is an old Office file or is locked with a password",
        "Save it as .docx or PDF without one.",
    ),
    (b"{\\rtf", "it is a rich text file (.rtf)", "Save it as .docx or PDF."),
    (b"\x89PNG", "it is a picture", "Run text recognition (OCR) over it and send the result."),
    (b"\xff\xd8\xff", "it is a picture", "Run text recognition (OCR) over it and send the result."),
    (b"GIF8", "it is a picture", "Run text recognition (OCR) over it and send the result."),
    (b"II*\0", "it is a picture", "Run text recognition (OCR) over it and send the result."),
    (b"MM\0*", "it is a picture", "Run text recognition (OCR) over it and send the result."),
    (b"\x1f\x8b", "it is compressed", "Unpack it first."),
    (b"7z\xbc\xaf", "it is compressed", "Unpack it first."),
    (b"Rar!", "it is compressed", "Unpack it first."),
)
HTML_START = re.compile(r"\s*(?:<!--.*?-->\s*)*<(?:!doctype html|html|head|body)\b", re.IGNORECASE | re.DOTALL)
HTML_SUFFIXES = frozenset({".html", ".htm", ".xhtml"})
MARKDOWN_SUFFIXES = frozenset({".md", ".markdown", ".mdown"})
MAX_PDF_OFFSET = 1024  # bytes; some mail programs put lines before the file


def check_size(size: int) -> None:
    if size > MAX_FILE_BYTES:
        raise UnreadableFileError(f"it is larger than {MAX_FILE_BYTES // 1_000_000} MB", "Send a part of it.")


def read_content(raw: bytes, suffix: str) -> Content:
    """Reads a file. `suffix` only tells Markdown and HTML from plain text. Raises UnreadableFileError."""
    check_size(len(raw))
    if not raw.strip():
        raise UnreadableFileError("it is empty", SUPPORTED_FORMATS_HINT)
    if b"%PDF-" in raw[:MAX_PDF_OFFSET]:
        return read_pdf(raw)
    for signature, cause, remedy in SIGNATURES:
        if raw.startswith(signature):
            raise UnreadableFileError(cause, remedy)
    if raw.startswith(b"PK\x03\x04"):
        if not is_docx(raw):
            raise UnreadableFileError("it is an archive or an Office file other than .docx", SUPPORTED_FORMATS_HINT)
        return read_docx(raw)
    return _read_text_file(raw, suffix.lower())


def suffix_of(name: str) -> str:
    return Path(name).suffix


def _read_text_file(raw: bytes, suffix: str) -> Content:
    text = decode_text(raw, html=suffix in HTML_SUFFIXES or b"<html" in raw[:MAX_PDF_OFFSET].lower())
    if text is None:
        raise UnreadableFileError("it is no text, and no format that is known here", SUPPORTED_FORMATS_HINT)
    if suffix in HTML_SUFFIXES or HTML_START.match(text[:4096]):
        return read_html(text)
    return read_markdown(text) if suffix in MARKDOWN_SUFFIXES else read_text(text)
