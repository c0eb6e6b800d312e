"""Looking things up, as a model does it: by name, with arguments, over the files of a task."""

import json
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from agentfn import File, ToolError
from functions.librarian.make_packet import Pages
from functions.librarian.questions import packet
from functions.librarian.tool_harness import AGENT, ToolHarness
from librarian.formats.content import Content
from librarian.formats.document_reader import read_content
from librarian.lookup_tools import find_text, list_items, read, search
from librarian.packet import ContentCache
from librarian.tools import TOOLS


def data(said: str) -> Any:
    """The last line, which is for going on."""
    return json.loads(said.rpartition("\n")[2])


def test_all_tools_may_run_again_and_tell_what_they_take() -> None:
    assert [tool.name for tool in TOOLS] == ["list_items", "find_text", "search", "read", "summarise", "report"]
    for tool in TOOLS:
        assert tool.idempotent
        properties = tool.schema.get("properties", {})
        assert "context" not in properties
        assert all(parameter.get("description") for parameter in properties.values()), tool.name


def test_the_items_of_all_documents_are_listed_with_their_pages_and_how_sure_they_are(packet_desk: ToolHarness) -> None:
    said = packet_desk.output(list_items)
    for line in (
        "packet.pdf (PDF, 30 pages); items from bookmarks, confidence 1",
        "- 5 · Budget for fiscal year 2027 · pp. 10\u201316",
        "  - 5.2 · Tables · pp. 13\u201314",
        "- 9 · Calendar and adjournment · p. 30",
        "library-memo.docx (Word, 5 sections); items from headings, confidence 0.95",
        "- what-it-costs · What it costs · §§ 4\u20135",
    ):
        assert line in said.text.split("\n")
    assert said.summary == "25 items in 3 documents"
    one = packet_desk.call(list_items, document="notice")
    assert one.startswith("notice.html (HTML, 3 sections)")
    assert "packet.pdf" not in one


def test_a_document_without_items_says_how_to_go_on(desk: ToolHarness) -> None:
    desk.attach("letter.txt", "dear all,\n\nthe fee is forty dollars.\n")
    assert desk.call(list_items) == (
        "letter.txt (text, 1 section); no items found, confidence 0.2: search it, or read it by section"
    )


def test_of_a_document_with_very_many_items_the_highest_are_listed(desk: ToolHarness) -> None:
    chapters = "\n".join(
        f"# {n}. Chapter\n\nText.\n" + "\n".join(f"## {n}.{m} Part\n\nText.\n" for m in range(1, 40))
        for n in range(1, 11)
    )
    desk.attach("law.md", chapters)
    said = desk.call(list_items)
    assert "- 10 · Chapter" in said
    assert "10.1" not in said
    assert said.endswith("Not shown: 390 further items.")


def test_without_documents_the_model_is_told_to_ask_for_one(desk: ToolHarness) -> None:
    for tool, arguments in ((list_items, {}), (search, {"query": "x"}), (read, {"pages": "1"})):
        with pytest.raises(ToolError, match=r"No document is attached\. Ask the user"):
            desk.call(tool, **arguments)


def test_a_file_that_cannot_be_read_stands_in_nobodys_way(desk: ToolHarness) -> None:
    desk.attach("photo.png", b"\x89PNG\r\n\x1a\n")
    with pytest.raises(ToolError, match=r"photo\.png cannot be read: it is a picture"):
        desk.call(list_items)
    desk.attach("fees.md", "# Fees\n\nForty dollars.\n")
    assert "Left out: photo.png cannot be read: it is a picture" in desk.call(list_items)
    assert "fees.md" in desk.call(search, query="dollars")
    with pytest.raises(ToolError, match="it is a picture"):
        desk.call(read, document="photo.png", pages="1")


def test_what_the_task_itself_made_is_no_part_of_the_packet(packet_desk: ToolHarness) -> None:
    packet_desk.workspace.save_file(File("report.md", b"# Zebra"))
    packet_desk.workspace.save_file(File("find_text.txt", b"Zebra"), hidden=True)
    assert "is nowhere there" in packet_desk.call(find_text, text="Zebra")


def test_every_place_of_a_text_is_found_with_page_and_context(packet_desk: ToolHarness) -> None:
    said = packet_desk.output(find_text, text="tannery hill")
    assert said.text.startswith("3 matches: packet.pdf, Item 5.1, p. 12; packet.pdf, Item 7, p. 23; ")
    assert "feet of it, from the standpipe to **Tannery Hill**, with twelve-inch ductile iron" in said.text
    assert data(said.render()) == {"has_more": False}
    assert said.summary == "3 matches"
    assert packet_desk.call(find_text, text="tannery hill", ignore_case=False).startswith('"tannery hill" is nowhere')
    assert packet_desk.call(find_text, text="Tannery Hill", item="7.2").startswith("1 match:")
    assert packet_desk.call(find_text, text="Tannery Hill", document="notice.html").startswith(
        '"Tannery Hill" is nowhere'
    )


@pytest.mark.parametrize(
    ("stands", "wanted"),
    [
        ("the infor-\nmation desk", "information desk"),
        ("the information\n   desk", "the information desk"),
        ("a twenty-\nfive foot wall", "twenty-five foot"),
        ("of\ufb01ce hours", "office hours"),
        ("the mayor\u2019s \u201cplan\u201d", 'mayor\'s "plan"'),
        ("2019 \u2013 2021", "2019-2021"),
        ("co\u00adoperation", "cooperation"),
        ("STRASSE", "strasse"),
        ("a (draft) c.* plan", "(draft) c.*"),
    ],
)
def test_how_a_text_was_set_makes_no_difference(desk: ToolHarness, stands: str, wanted: str) -> None:
    desk.attach("a.txt", f"here are some words, {stands} and others.")
    assert desk.call(find_text, text=wanted).startswith("1 match: § 1.")


def test_a_text_that_runs_over_the_end_of_a_page_is_found_on_both(desk: ToolHarness) -> None:
    pages = Pages(foot="")
    for text in ("The fee is forty", "dollars a year."):
        pages.add_page()
        pages.paragraph(text)
    desk.attach("fees.pdf", bytes(pages.output()))
    assert desk.call(find_text, text="forty dollars").startswith("1 match: pp. 1\u20132.")


def test_many_matches_come_in_pieces(desk: ToolHarness) -> None:
    desk.attach("a.txt", "One fee and another. " * 14)
    first = desk.call(find_text, text="fee")
    assert first.startswith("14 matches")
    assert data(first) == {"has_more": True, "next_offset": 10}
    second = desk.call(find_text, text="fee", offset=10)
    assert second.count("**fee**") == 4
    assert data(second) == {"has_more": False}


@pytest.mark.parametrize("text", ["", "  ", "x" * 500])
def test_a_text_that_is_none_is_refused(packet_desk: ToolHarness, text: str) -> None:
    with pytest.raises(ToolError, match="1 to 300 characters"):
        packet_desk.call(find_text, text=text)


def test_a_search_ranks_passages_with_item_page_and_snippet(packet_desk: ToolHarness) -> None:
    said = packet_desk.output(search, query="How high may buildings be?", most=3)
    lines = said.text.split("\n")
    assert len(lines) == 3
    assert lines[0].startswith("1. packet.pdf, Item 6.2, p. 21 (Text of the ordinance), score ")
    assert "higher than 45 feet" in lines[0]
    assert said.summary == "3 passages, best packet.pdf, Item 6.2, p. 21"


def test_a_search_finds_other_forms_of_a_word_and_words_without_accents(desk: ToolHarness) -> None:
    desk.attach(
        "a.md", "# A\n\nThe councillors were voting.\n\n# B\n\nThe café opens.\n\n# C\n\n会議は月曜日に開かれます。\n"
    )
    assert desk.call(search, query="votes of councillor").startswith('1. "A", § 1')
    assert desk.call(search, query="CAFE opening").startswith('1. "B", § 2')
    assert desk.call(search, query="月曜日").startswith('1. "C", § 3')
    assert desk.call(search, query="the of and").startswith("No passage shares a word")


def test_an_item_is_read_with_the_page_of_everything(packet_desk: ToolHarness) -> None:
    said = packet_desk.output(read, item="6.2")
    assert said.text.startswith("packet.pdf, Item 6.2, pp. 20\u201321\n\n[packet.pdf, Item 6.2, p. 20]\n")
    assert "\n\n[packet.pdf, Item 6.2, p. 21]\n" in said.text
    assert data(said.render()) == {"has_more": False}
    assert said.summary == "packet.pdf, Item 6.2, pp. 20\u201321"


@pytest.mark.parametrize(
    "item", ["Item 6.2", "6.2 Text of the ordinance", "text of the ordinance", "6.2.", "TEXT OF THE"]
)
def test_an_item_is_known_by_its_id_or_its_title(packet_desk: ToolHarness, item: str) -> None:
    assert packet_desk.call(read, item=item).startswith("packet.pdf, Item 6.2, pp. 20")


@pytest.mark.parametrize("pages", ["20-21", "20", "pp. 20\u201321", "20 to 99", "p. 20"])
def test_pages_are_read_by_their_numbers(packet_desk: ToolHarness, pages: str) -> None:
    assert packet_desk.call(read, pages=pages, document="packet.pdf").startswith("packet.pdf, Item 6.2, p")


def test_a_long_item_is_read_in_pieces_that_leave_nothing_out(desk: ToolHarness) -> None:
    lines = [f"Line {number} of the long text that stands here." for number in range(900)]
    desk.attach("long.txt", "\n".join(lines))
    text, offset = "", 0
    while True:
        said = desk.call(read, offset=offset)
        text += said.partition("\n\n")[2].rpartition("\n")[0]
        if not data(said)["has_more"]:
            break
        offset = data(said)["next_offset"]
    assert [line for line in text.split("\n") if line.startswith("Line ")] == lines
    with pytest.raises(ToolError, match="is past its end"):
        desk.call(read, offset=999_999)


UNCLEAR = {
    "several documents": ({"pages": "3"}, "several documents; name one: packet.pdf, library-memo.docx, notice.html"),
    "no such document": ({"pages": "1", "document": "x.pdf"}, r"no document x\.pdf. There are: packet\.pdf"),
    "no such item": ({"item": "12"}, r"no item 12. There are: agenda, 1, 2,"),
    "no such page": ({"pages": "31", "document": "packet.pdf"}, "pages 1 to 30"),
    "no page": ({"pages": "the first", "document": "packet.pdf"}, 'as "2" or "2-4"'),
    "backwards": ({"pages": "5-2", "document": "packet.pdf"}, "pages 1 to 30"),
}


@pytest.mark.parametrize(("arguments", "why"), UNCLEAR.values(), ids=UNCLEAR)
def test_an_unclear_place_is_answered_with_what_there_is(
    packet_desk: ToolHarness, arguments: dict[str, str], why: str
) -> None:
    with pytest.raises(ToolError, match=why):
        packet_desk.call(read, **arguments)


def test_an_item_that_two_documents_have_needs_the_document_as_well(desk: ToolHarness) -> None:
    desk.attach("a.md", "# 1. Fees\n\nForty.\n\n# 2. Boats\n\nBlue.\n")
    desk.attach("b.md", "# 1. Fees\n\nFifty.\n\n# 2. Boats\n\nRed.\n")
    with pytest.raises(ToolError, match=r"Item 1 is in a\.md, b\.md\. Name the document as well"):
        desk.call(read, item="1")
    assert "Fifty." in desk.call(read, item="1", document="b.md")


def test_a_document_alone_is_not_named_in_citations(desk: ToolHarness) -> None:
    desk.attach("packet.pdf", packet()["packet.pdf"])
    assert desk.call(read, item="8").startswith("Item 8, pp. 27\u201329\n\n[Item 8, p. 27]")


def test_the_same_bytes_are_read_once_though_several_want_them_at_once() -> None:
    shelf, reads, content = ContentCache(), [], read_content(b"Forty dollars.", ".txt")

    def make() -> Content:
        reads.append(threading.get_ident())
        return content

    with ThreadPoolExecutor(4) as threads:
        found = list(threads.map(lambda _: shelf.get_or_read("a", make), range(12)))
    assert len(reads) == 1
    assert all(one is content for one in found)


def test_two_files_of_different_bytes_are_never_taken_for_each_other(desk: ToolHarness) -> None:
    desk.attach("a.md", "# Fees\n\nForty.\n")
    desk.attach("b.md", "# Fees\n\nFifty.\n")
    assert "Forty" in desk.call(read, document="a.md", pages="1")
    assert "Fifty" in desk.call(read, document="b.md", pages="1")


def test_the_shelf_keeps_so_many_documents_and_no_more() -> None:
    shelf = ContentCache()
    for number in range(40):
        shelf.put(str(number), read_content(f"text {number}".encode(), ".txt"))
    assert shelf.get("0") is None
    assert shelf.get("39") is not None
    assert sum(shelf.get(str(number)) is not None for number in range(40)) == 16


def test_the_tools_load_nothing_heavy_before_they_need_it() -> None:
    heavy = {"pypdf", "markdown_it", "charset_normalizer", "snowballstemmer", "defusedxml", "litellm"}
    code = f"import sys, librarian.tools, librarian.demo; sys.exit(', '.join({heavy} & sys.modules.keys()) or 0)"
    done = subprocess.run([sys.executable, "-c", code], cwd=AGENT, capture_output=True, text=True, check=False)
    assert (done.stderr.strip(), done.returncode) == ("", 0)
