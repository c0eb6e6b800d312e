"""Makes the sample packet in functions/librarian/data from packet.md and memo.md, the same bytes each time.

python tests/functions/librarian/make_packet.py
"""

import io
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from xml.sax.saxutils import escape
from zipfile import ZIP_STORED, ZipFile, ZipInfo

from fpdf import FPDF
from fpdf.enums import XPos, YPos

DATA = Path(__file__).resolve().parents[3] / "functions" / "librarian" / "data"
WHEN = datetime(2026, 11, 5, 12, tzinfo=UTC)
W = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
TYPES = """<?xml version="1.0" encoding="UTF-8"?>
<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">\
<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>\
<Override PartName="/word/document.xml" ContentType=\
"application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"/>\
<Override PartName="/word/styles.xml" ContentType=\
"application/vnd.openxmlformats-officedocument.wordprocessingml.styles+xml"/></Types>"""
RELATIONS = """<?xml version="1.0" encoding="UTF-8"?>
<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships"><Relationship Id="rId1" Type=\
"http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument" Target="word/document.xml"/>\
</Relationships>"""
STYLES = [("Title", "Title"), ("Heading1", "heading 1"), ("Heading2", "heading 2")]
WORD_STYLES = {"#": "Title", "##": "Heading1", "###": "Heading2"}


class Pages(FPDF):
    """A4 pages without compression, so that the bytes do not depend on zlib and a diff is readable."""

    def __init__(self, running: str = "", foot: str = "Packet page") -> None:
        super().__init__()
        self._running = running
        self._foot = foot
        self.set_compression(False)
        self.set_creation_date(WHEN)
        self.set_margin(24)
        self.set_auto_page_break(True, 24)

    def header(self) -> None:
        if self._running:
            self.set_font("Helvetica", size=8)
            self._line(self._running, 10)

    def footer(self) -> None:
        if self._foot:
            self.set_y(-16)
            self.set_font("Helvetica", size=8)
            self.cell(0, 6, f"{self._foot} {self.page_no()}", align="R")

    def title_line(self, text: str) -> None:
        self.set_font("Helvetica", "B", 16)
        self.multi_cell(0, 9, text, new_x=XPos.LMARGIN, new_y=YPos.NEXT)
        self.ln(3)

    def heading(self, text: str, size: float = 12) -> None:
        self.set_font("Helvetica", "B", size)
        self._line(text, 8)

    def paragraph(self, text: str) -> None:
        self.set_font("Helvetica", size=11)
        self.multi_cell(0, 6.4, text, new_x=XPos.LMARGIN, new_y=YPos.NEXT)
        self.ln(3.2)

    def rows(self, rows: Sequence[Sequence[str]]) -> None:
        widest = [max(len(row[column]) for row in rows) + 3 for column in range(len(rows[0]))]
        for place, row in enumerate(rows):
            self.set_font("Helvetica", "" if place else "B", 9.5)
            for text, width in zip(row, widest, strict=True):
                right = text[:1] in "$0123456789" and width < 20 and text != row[0]
                self.cell(self.epw * width / sum(widest), 7, text, border="B", align="R" if right else "L")
            self.ln(7)
        self.ln(4)

    def _line(self, text: str, height: float) -> None:
        self.cell(0, height, text, new_x=XPos.LMARGIN, new_y=YPos.NEXT)


def packet_pdf(*, outline: bool = True) -> bytes:
    """The packet as PDF; without `outline` it has no bookmarks."""
    pages = Pages("Town of Alder Reach - council meeting of 9 November 2026")
    for block in _blocks("packet.md"):
        mark, _, title = block.partition(" ")
        if mark in ("#", "##", "---"):
            pages.add_page()
        if mark in ("#", "##"):
            if outline:
                pages.start_section(title, len(mark) - 1)
            pages.title_line(title)
        elif mark == "###":
            pages.heading(title)
        elif " | " in block:
            pages.rows([line.split(" | ") for line in block.split("\n")])
        elif mark == "1.":
            pages.paragraph(block)
        elif mark != "---":
            pages.paragraph(" ".join(block.split()))
    return bytes(pages.output())


def memo_docx() -> bytes:
    return docx([made for block in _blocks("memo.md") for made in _word(block)])


def docx(blocks: Sequence[str], styles: Sequence[tuple[str, str]] = STYLES) -> bytes:
    """A Word document with these blocks of WordprocessingML; `styles` are ids and names."""
    named = "".join(
        f'<w:style w:type="paragraph" w:styleId="{key}"><w:name w:val="{name}"/></w:style>' for key, name in styles
    )
    parts = {
        "[Content_Types].xml": TYPES,
        "_rels/.rels": RELATIONS,
        "word/document.xml": f"<w:document {W}><w:body>{''.join(blocks)}</w:body></w:document>",
        "word/styles.xml": f"<w:styles {W}>{named}</w:styles>",
    }
    file = io.BytesIO()
    with ZipFile(file, "w", ZIP_STORED) as archive:
        for name, text in parts.items():
            archive.writestr(ZipInfo(name, WHEN.timetuple()[:6]), text.encode())
    return file.getvalue()


def paragraph(text: str, properties: str = "") -> str:
    return f'<w:p><w:pPr>{properties}</w:pPr><w:r><w:t xml:space="preserve">{escape(text)}</w:t></w:r></w:p>'


def row(*cells: str) -> str:
    return f"<w:tbl><w:tr>{''.join(f'<w:tc>{paragraph(cell)}</w:tc>' for cell in cells)}</w:tr></w:tbl>"


def _blocks(name: str) -> list[str]:
    """The blocks between empty lines: "#" starts an item, "##" a subitem, "---" a page, "###" is a heading."""
    return Path(__file__).with_name(name).read_text().strip().split("\n\n")


def _word(block: str) -> list[str]:
    mark, _, rest = block.partition(" ")
    if mark in WORD_STYLES:
        return [paragraph(rest, f'<w:pStyle w:val="{WORD_STYLES[mark]}"/>')]
    if mark == "-":
        return [paragraph(line[2:], '<w:numPr><w:numId w:val="1"/></w:numPr>') for line in block.split("\n")]
    if " | " in block:
        return [row(*line.split(" | ")) for line in block.split("\n")]
    return [paragraph(" ".join(block.split()))]


def packet() -> dict[str, bytes]:
    """The files of the sample packet that are made; notice.html is written by hand."""
    return {"packet.pdf": packet_pdf(), "library-memo.docx": memo_docx()}


if __name__ == "__main__":
    for name, content in packet().items():
        DATA.joinpath(name).write_bytes(content)
        sys.stdout.write(f"{name}: {len(content):,} bytes\n")
