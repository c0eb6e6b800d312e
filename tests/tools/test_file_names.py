"""Names from outside: data, shown and sent."""

import re
import unicodedata
from email.message import Message
from pathlib import Path
from urllib.parse import unquote

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from agentfn.tools.workspaces.file_names import content_disposition, sanitize_file_name, sanitize_media_type

ANY = st.text(st.characters(), max_size=400)  # surrogates too

NAMES = [
    ("résumé 2026.pdf", "résumé 2026.pdf"),
    ('../../other/x"\r\nA: b.pdf', "xA: b.pdf"),
    ("C:\\Users\\ann\\a.txt", "a.txt"),
    ("/etc/passwd", "passwd"),
    ("..", "file"),
    (". .. hidden", "hidden"),
    (".bashrc", "bashrc"),
    ("a/", "file"),
    ("", "file"),
    ("\u202egpj.exe", "gpj.exe"),
    ("a\u2028b\x00c.txt", "abc.txt"),
    ("\ud83d.txt", "txt"),
    ("  a b  ", "a b"),
    ("日本語.csv", "日本語.csv"),
]


@pytest.mark.parametrize(("name", "safe"), NAMES)
def test_a_name_is_reduced_to_what_can_be_shown(name: str, safe: str) -> None:
    assert sanitize_file_name(name) == safe


def test_a_long_name_keeps_its_kind() -> None:
    assert sanitize_file_name("a" * 500 + ".pdf") == "a" * 196 + ".pdf"
    assert sanitize_file_name("a." + "b" * 500) == "a." + "b" * 198
    assert sanitize_file_name("漢" * 300 + ".csv").endswith("漢.csv")


@given(ANY)
@example("..\u00a0.x")
@example("漢" * 100)
@example("a" * 199 + " .txt")
@example("x" + "\u00a0" * 300 + ".pdf")
def test_any_name_is_one_that_a_folder_takes_and_stays_as_it_is(name: str) -> None:
    safe = sanitize_file_name(name)
    assert safe
    assert Path(safe).name == safe
    assert len(safe.encode()) <= 255
    assert not any(unicodedata.category(char) in ("Cc", "Cf", "Cs", "Zl", "Zp") for char in safe)
    assert '"' not in safe
    assert safe == safe.strip()
    assert not safe.startswith(".")
    assert sanitize_file_name(safe) == safe


def parsed(header: str) -> str:
    """As the standard library reads it (RFC 2231 and 6266)."""
    message = Message()
    message["Content-Disposition"] = header
    name = message.get_filename()
    assert name is not None
    return name


def test_a_disposition_has_an_ascii_fallback_and_the_name_itself() -> None:
    header = content_disposition("résumé 2026.pdf", "application/octet-stream")
    assert header == "attachment; filename=\"resume 2026.pdf\"; filename*=UTF-8''r%C3%A9sum%C3%A9%202026.pdf"


@pytest.mark.parametrize("kind", ["text/html", "image/svg+xml", "application/javascript", "", "text/plain; charset=x"])
def test_what_a_browser_might_run_is_an_attachment(kind: str) -> None:
    assert content_disposition("a", kind).startswith("attachment; ")


@pytest.mark.parametrize("kind", ["text/plain", "image/png", "application/pdf"])
def test_what_is_safe_to_show_is_shown(kind: str) -> None:
    assert content_disposition("a", kind).startswith("inline; ")


@given(ANY)
@example('x"\r\nSet-Cookie: a=b')
@example("100%.txt")
@example("a\\b;c'd")
def test_no_name_gets_out_of_its_header(name: str) -> None:
    header = content_disposition(name, "text/plain")
    assert header.isascii()
    assert header.isprintable()
    match = re.fullmatch(r"inline; filename=\"([^\"\\]+)\"; filename\*=UTF-8''([\w.~%-]*)", header, re.ASCII)
    assert match
    assert unquote(match[2], errors="strict") == name.encode("utf-8", "replace").decode()


@given(st.text().map(sanitize_file_name))
def test_a_safe_name_is_read_back_as_it_was(name: str) -> None:
    header = content_disposition(name, "text/plain")
    assert unquote(header.rsplit("''", 1)[1]) == name
    assert parsed(header)


@pytest.mark.parametrize(
    "kind", ["text/plain", "image/svg+xml", "text/csv; charset=utf-8", "application/vnd.x-y.z+json"]
)
def test_a_media_type_stays(kind: str) -> None:
    assert sanitize_media_type(kind) == kind


@pytest.mark.parametrize(
    "kind", ["", "text", "text/", "/x", "text/plain\r\nA: b", "text/plain\n", "é/x", "a/b; c", "a/b/c"]
)
def test_what_is_no_media_type_is_bytes(kind: str) -> None:
    assert sanitize_media_type(kind) == "application/octet-stream"
