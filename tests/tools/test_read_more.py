"""Reading on where an output was cut."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentfn import Context, File, ToolError
from agentfn.tools import FolderWorkspace, read_more
from agentfn.tools.read_more_tool import _build_page

TEXT = "".join(f'{number}: "café" 😀\r\n' for number in range(9_000))


def pages(call: Any, name: str, **limits: Any) -> list[dict[str, Any]]:
    """All of them, each asked for with the next_offset of the one before."""
    offset: int | None = 0
    read: list[dict[str, Any]] = []
    while offset is not None:
        outcome = call(read_more, json.dumps({"file": name, "offset": offset}), **limits)
        read.append(json.loads(outcome.text))
        offset = read[-1]["next_offset"]
    return read


@pytest.mark.parametrize("limit", [1_000, 30_000, 10**6])
def test_a_hidden_file_is_read_to_its_end_page_by_page(call: Any, workspace: FolderWorkspace, limit: int) -> None:
    kept = workspace.save_file(File("output-call_7.txt", TEXT.encode()), hidden=True)
    read = pages(call, kept.name, max_output_chars=limit)
    assert "".join(page["text"] for page in read) == TEXT
    assert [page["has_more"] for page in read] == [True] * (len(read) - 1) + [False]
    assert {page["total_chars"] for page in read} == {len(TEXT)}
    assert [page["offset"] for page in read[1:]] == [page["next_offset"] for page in read[:-1]]
    assert len(read) < 2 + 2 * len(TEXT) / limit


@pytest.mark.parametrize("text", ['"' * 50_000, "\x00" * 50_000, "漢" * 50_000, "a" * 49_000 + "\x00" * 1_000])
def test_no_page_is_itself_too_long_to_be_shown(call: Any, workspace: FolderWorkspace, text: str) -> None:
    workspace.save_file(File("a.txt", text.encode()))
    for offset in (0, 25_000, 49_900):
        outcome = call(read_more, json.dumps({"file": "a.txt", "offset": offset}), max_output_chars=5_000)
        assert len(outcome.text) <= 5_000
        assert len(json.loads(outcome.text)["text"]) >= min(100, len(text) - offset)


@given(st.text(min_size=1), st.integers(0, 400))
def test_each_page_goes_on_however_little_may_be_shown(text: str, limit: int) -> None:
    offset, read = 0, ""
    while offset is not None:
        page = _build_page(text, offset, limit)
        read, offset = read + page["text"], page["next_offset"]
    assert read == text


def test_whoever_watches_is_told_where_it_reads(call: Any, workspace: FolderWorkspace) -> None:
    workspace.save_file(File("a.txt", b"x" * 2_500))
    assert call(read_more, '{"file": "a.txt", "offset": 1200}').summary == "characters 1,200 to 2,500 of 2,500"


def test_an_empty_file_is_read_at_once(call: Any, workspace: FolderWorkspace) -> None:
    workspace.attach(File("empty.txt", b""))
    (page,) = pages(call, "empty.txt")
    assert page == {"text": "", "offset": 0, "next_offset": None, "total_chars": 0, "has_more": False}


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ("\ufeffcafé".encode(), "café"),
        ("café".encode("latin-1"), "caf�"),
        (b"a\r\nb\x00c", "a\r\nb\x00c"),
        ("<svg>é</svg>".encode(), "<svg>é</svg>"),
    ],
)
def test_text_is_read_as_utf_8_and_the_rest_replaced(
    call: Any, workspace: FolderWorkspace, content: bytes, text: str
) -> None:
    workspace.attach(File("a.csv", content))
    assert pages(call, "a.csv")[0]["text"] == text


@pytest.mark.parametrize(
    ("name", "content", "kind"),
    [
        ("a.png", b"\x89PNG\r\n\x1a\n", "image/png"),
        ("a.pdf", b"%PDF-1.7\n%\xe2\xe3\xcf\xd3", "application/pdf"),
        ("a.bin", b"\x7fELF\xff\x00", "application/octet-stream"),
        ("a.txt", b"\xff\xfea\x00", "text/plain"),
    ],
)
def test_a_binary_file_is_refused_by_its_type(
    call: Any, workspace: FolderWorkspace, name: str, content: bytes, kind: str
) -> None:
    workspace.attach(File(name, content))
    mistake = call(read_more, json.dumps({"file": name}))
    assert mistake.error_type == "tool_error"
    assert f"{name} is a binary file ({kind})" in mistake.message


def test_what_cannot_be_read_is_said(call: Any, workspace: FolderWorkspace) -> None:
    workspace.attach(File("a.txt", b"x" * 2_000))
    past = call(read_more, '{"file": "a.txt", "offset": 2001}')
    assert past.message == "offset 2,001 is past the end of a.txt, which has 2,000 characters"
    assert call(read_more, '{"file": "a.txt", "offset": -1}').path == "$.offset"
    assert call(read_more, '{"file": "b.txt"}').message == "there is no file 'b.txt'; there are: a.txt"


def test_the_model_is_shown_a_file_and_an_offset() -> None:
    assert list(read_more.schema["properties"]) == ["file", "offset"]
    assert read_more.schema["required"] == ["file"]
    assert (read_more.idempotent, read_more.requires_approval) == (True, False)


def test_it_can_be_called_like_any_function(context: Context, workspace: FolderWorkspace) -> None:
    workspace.attach(File("a.txt", b"hello"))
    assert read_more(context.path("a.txt"), context, offset=2).data["text"] == "llo"
    with pytest.raises(ToolError, match="offset 6 is past the end"):
        read_more(context.path("a.txt"), context, offset=6)
