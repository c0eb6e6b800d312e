"""Files as people have them: each is read, or it is said why not and what to send instead."""

import contextlib
import io
import random
from zipfile import ZIP_DEFLATED, ZipFile

import pytest
from pypdf import PdfReader, PdfWriter

from functions.librarian.make_packet import Pages, docx, packet_pdf, paragraph, row
from functions.librarian.questions import DATA
from librarian.formats import docx as word
from librarian.formats.content import Content, UnreadableFileError
from librarian.formats.document_reader import read_content
from librarian.formats.page_headers import strip_page_headers
from librarian.items import make_items
from librarian.limits import MAX_UNZIPPED_BYTES
from librarian.text import clean_text, flatten_lines, shorten

PACKET = (DATA / "packet.pdf").read_bytes()


def small_pdf(*pages: str, foot: str = "") -> bytes:
    """A page for each text, without bookmarks."""
    made = Pages(foot=foot)
    for text in pages:
        made.add_page()
        if text:
            made.paragraph(text)
    return bytes(made.output())


def rewritten(raw: bytes, change: str, *arguments: object, **named: object) -> bytes:
    """The PDF as pypdf writes it after a call of a method of its writer, or of each of its pages."""
    writer = PdfWriter(clone_from=PdfReader(io.BytesIO(raw)))
    for target in [writer] if hasattr(writer, change) else writer.pages:
        getattr(target, change)(*arguments, **named)
    file = io.BytesIO()
    writer.write(file)
    return file.getvalue()


def titles(content: Content) -> list[str]:
    return [f"{item.id} {item.title} {item.first}-{item.last}" for item in make_items(content)]


def test_a_pdf_is_read_page_by_page_with_its_bookmarks() -> None:
    content = read_content(PACKET, ".pdf")
    assert (content.format, content.unit, len(content.parts)) == ("PDF", "p.", 30)
    assert (content.item_source, content.confidence, content.notes) == ("bookmarks", 1.0, ())
    assert "5.2 Tables 13-14" in titles(content)
    assert "Library   1,219,945   1,247,800   1,284,600\nHarbor   171,606" in content.parts[12].text


def test_a_pdf_without_bookmarks_has_the_same_items_by_the_size_of_its_headings() -> None:
    content = read_content(packet_pdf(outline=False), ".pdf")
    assert (content.item_source, content.confidence) == ("headings", 0.8)
    named = read_content(PACKET, ".pdf")
    assert {(mark.title, mark.part) for mark in named.headings} <= {
        (mark.title, mark.part) for mark in content.headings
    }


def test_where_all_letters_are_of_one_size_numbers_and_capitals_make_headings() -> None:
    content = read_content(
        small_pdf(
            "1. Opening\n\n2. Money\n\nTotal is 5.",
            "1. Opening\n\nThe chair opened the meeting.\n\nAPPROVAL OF THE MINUTES\n\nThey were approved.",
            "2. Money\n\nThere is enough of it until 14 May.",
            foot="Page",
        ),
        ".pdf",
    )
    assert (content.item_source, content.confidence) == ("headings", 0.5)
    assert [(mark.title, mark.part) for mark in content.headings] == [
        ("1. Opening", 2),
        ("APPROVAL OF THE MINUTES", 2),
        ("2. Money", 3),
    ]


def test_a_pdf_without_any_headings_is_one_whole() -> None:
    content = read_content(small_pdf("just some words in a row.", "and some more of them."), ".pdf")
    assert (content.item_source, content.headings) == ("whole document", ())
    assert content.confidence < 0.5


@pytest.mark.parametrize("turn", [90, 180, 270])
def test_pages_that_are_turned_are_read(turn: int) -> None:
    content = read_content(rewritten(small_pdf("The fee is forty dollars."), "rotate", turn), ".pdf")
    assert "The fee is forty dollars." in content.parts[0].text


def test_text_that_runs_up_the_page_is_read() -> None:
    made = Pages(foot="")
    made.add_page()
    made.set_font("Helvetica", size=11)
    with made.rotation(90, 60, 200):
        made.text(60, 200, "The fee is forty dollars.")
    assert "The fee is forty dollars." in read_content(bytes(made.output()), ".pdf").parts[0].text


def test_a_pdf_that_is_locked_against_changes_only_is_read() -> None:
    raw = rewritten(small_pdf("The fee is forty dollars."), "encrypt", "", "owner", algorithm="AES-256")
    assert "forty dollars" in read_content(raw, ".pdf").parts[0].text


def test_pages_that_are_pictures_are_named() -> None:
    content = read_content(small_pdf("", "The fee is forty dollars.", "", ""), ".pdf")
    assert content.notes == ("p. 1, pp. 3\u20134: no text there, only pictures or nothing.",)


LOCKED = rewritten(small_pdf("Secret."), "encrypt", "secret", algorithm="AES-256")
BAD = {
    "an empty file": (b"", "it is empty"),
    "blanks": (b" \n\t ", "it is empty"),
    "a scan": (small_pdf("", ""), r"it holds no text.*OCR"),
    "a locked pdf": (LOCKED, "it is locked with a password. Send a copy without one."),
    "half a header": (b"%PDF-1.7\n%garbage", "it is a broken PDF"),
    "a cut pdf": (PACKET[:20_000].replace(b"/Page", b"/Pig"), "it has no pages|it is a broken PDF"),
    "an old .doc": (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600), "old Office file"),
    "rich text": (b"{\\rtf1\\ansi Hello}", r"\.rtf"),
    "a picture": (b"\x89PNG\r\n\x1a\n" + bytes(50), "it is a picture"),
    "an archive": (b"PK\x03\x04 and then nothing", r"other than \.docx"),
    "bytes": (bytes(range(256)) * 40, "it is no text"),
}


@pytest.mark.parametrize(("raw", "why"), BAD.values(), ids=BAD)
def test_a_file_that_cannot_be_read_is_explained(raw: bytes, why: str) -> None:
    with pytest.raises(UnreadableFileError, match=why):
        read_content(raw, ".pdf")


def test_damaged_files_are_read_or_refused_and_nothing_else() -> None:
    dice = random.Random(7)
    files = {".pdf": small_pdf("Some words.", "More words."), ".docx": docx([paragraph("Some words.")])}
    for suffix, whole in files.items():
        for _ in range(60):
            raw = bytearray(whole)
            for _ in range(dice.randint(1, 20)):
                raw[dice.randrange(len(raw))] = dice.randrange(256)
            with contextlib.suppress(UnreadableFileError):
                read_content(bytes(raw[: dice.randint(len(raw) // 2, len(raw))]), suffix)


def test_a_word_document_has_its_headings_lists_and_tables() -> None:
    content = read_content((DATA / "library-memo.docx").read_bytes(), ".docx")
    assert (content.format, content.unit, content.item_source) == ("Word", "§", "headings")
    assert titles(content)[2:] == ["what-it-costs What it costs 4-5", "what-it-costs.1 What is proposed 5-5"]
    assert "- Afternoon from 13:00 to 17:00: 331 readers\n- Morning" in content.parts[2].text
    assert "Pay of two librarians | $18,900\nPay of a page | $3,100" in content.parts[3].text


def test_a_word_document_is_read_as_a_reader_sees_it() -> None:
    changed = (
        "<w:p><w:r><w:t>The fee is </w:t></w:r><w:del><w:r><w:delText>thirty</w:delText></w:r></w:del>"
        "<w:ins><w:r><w:t>forty</w:t></w:r></w:ins><w:r><w:tab/><w:t>dollars</w:t><w:br/><w:t>a year</w:t></w:r></w:p>"
    )
    nested = f"<w:tbl><w:tr><w:tc>{row('inner', 'cell')}</w:tc></w:tr></w:tbl>"
    content = read_content(docx([changed, nested]), ".docx")
    assert "The fee is forty dollars\na year" in content.parts[0].text
    assert "inner" in content.parts[0].text


def test_headings_of_other_languages_count_by_their_level() -> None:
    styles = [("berschrift1", "heading 1"), ("Mine", "My own")]
    outlined = paragraph("Anhang", '<w:outlineLvl w:val="0"/>')
    content = read_content(
        docx([paragraph("Kosten", '<w:pStyle w:val="berschrift1"/>'), paragraph("Viel."), outlined], styles), ".docx"
    )
    assert [mark.title for mark in content.headings] == ["Kosten", "Anhang"]


def test_a_word_document_cannot_reach_other_files_or_fill_the_memory() -> None:
    entity = docx(["<w:p><w:r><w:t>&x;</w:t></w:r></w:p>"])
    file = io.BytesIO()
    with ZipFile(io.BytesIO(entity)) as old, ZipFile(file, "w", ZIP_DEFLATED) as new:
        for name in old.namelist():
            doctype = b'<!DOCTYPE d [<!ENTITY x SYSTEM "file:///etc/passwd">]>' if name == word.BODY else b""
            new.writestr(name, doctype + old.read(name))
    with pytest.raises(UnreadableFileError, match="broken Word document"):
        read_content(file.getvalue(), ".docx")
    bomb = io.BytesIO()
    with ZipFile(bomb, "w", ZIP_DEFLATED) as archive:
        archive.writestr(word.BODY, bytes(MAX_UNZIPPED_BYTES + 1))
    assert len(bomb.getvalue()) < 100_000
    with pytest.raises(UnreadableFileError, match="unpacks to more than 50 MB"):
        read_content(bomb.getvalue(), ".docx")


def test_markdown_keeps_its_text_and_a_sign_in_code_begins_no_section() -> None:
    text = (
        "Before.\n\n# Rules\n\nOne **rule**.\n\n```\n# no heading\n```\n\nFees\n----\n\n| a | b |\n|---|---|\n| 1 | 2 |"
    )
    content = read_content(text.encode(), ".md")
    assert [part.text.split("\n")[0] for part in content.parts] == ["Before.", "Rules", "Fees"]
    assert "# no heading" in content.parts[1].text
    assert "| 1 | 2 |" in content.parts[2].text
    assert titles(content) == ["rules Rules 2-3", "rules.1 Fees 3-3"]


def test_a_web_page_is_read_without_what_only_browsers_read() -> None:
    content = read_content((DATA / "notice.html").read_bytes(), ".html")
    whole = "\n".join(part.text for part in content.parts)
    assert "track(" not in whole
    assert "margin" not in whole
    assert "Packet | Town Hall, and on this page" in whole
    assert titles(content) == ["how-to-take-part How to take part 2-2", "papers Papers 3-3"]


def test_a_web_page_that_is_written_badly_is_read_all_the_same() -> None:
    text = (
        "<h1>Fees<p>The fee is<br>forty&nbsp;dollars<script>if (a < b) x()</script> a year.<svg/><pre>a\n  b</pre><td>c"
    )
    content = read_content(text.encode(), ".htm")
    assert "The fee is\nforty dollars a year." in content.parts[0].text
    assert "a\nb" in content.parts[0].text


def test_plain_text_has_items_by_its_numbers_pages_by_its_form_feeds_or_parts_by_length() -> None:
    numbered = read_content(b"Rules of the club\n\n1. Fees\nForty dollars.\n\n2. Boats\nAre to be washed.\n", ".txt")
    assert titles(numbered) == ["1 Fees 2-2", "2 Boats 3-3"]
    paged = read_content(b"1. Fees\nForty.\n\f2. Boats\nWashed.\n\fMore of boats.\n\f", ".txt")
    assert (paged.unit, titles(paged)) == ("p.", ["1 Fees 1-1", "2 Boats 2-3"])
    long = read_content(("A sentence of some length stands here. " * 40 + "\n\n").encode() * 20, ".txt")
    assert len(long.parts) > 3
    assert all(part.text.endswith(".") for part in long.parts)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "cp1252", "cp1251"])
def test_text_of_any_encoding_is_read(encoding: str) -> None:
    text = "Плата составляет сорок долларов в год." if encoding == "cp1251" else "Die Gebühr beträgt vierzig Dollar."
    assert read_content((text * 3).encode(encoding), ".txt").parts[0].text.startswith(text)


def test_what_looks_the_same_is_the_same_after_cleaning() -> None:
    assert clean_text("of\ufb01ce\u00a0\u2009hours") == "office  hours"
    assert clean_text("infor\u00ad\nmation\u200b, e\u0301") == "information, \u00e9"
    assert clean_text("\u202b\u05e9\u05dc\u202c \ufe8f") == "\u05e9\u05dc \u0628"
    assert flatten_lines("the infor-\nmation on twenty-\nFive") == "the information on twenty- Five"
    assert shorten("one two three", 9) == "one two…"


def test_running_heads_and_feet_stand_on_the_first_page_only() -> None:
    pages = strip_page_headers([f"The club\n9 May 2026\n\nRule {n} here.\n\nPage {n} of 6" for n in range(1, 7)])
    assert pages[0] == "The club\n9 May 2026\n\nRule 1 here.\n\nPage 1 of 6"
    assert pages[1:] == [f"Rule {n} here." for n in range(2, 7)]


def test_a_line_that_only_looks_like_a_running_one_stays() -> None:
    sums = [f"Bills of month {n * n}\n\nTotal {n * 317}" for n in range(1, 9)]
    assert strip_page_headers(sums) == sums
    articles = [f"Article {n}\n\nText of {n * n}." for n in range(1, 9)]
    assert strip_page_headers(articles) == articles
    few = ["The club\n\nOne.", "The club\n\nTwo.", "The club\n\nThree.", ""]
    assert strip_page_headers(few) == few
