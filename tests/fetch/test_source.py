"""A source, given as text, as a file."""

import asyncio
import base64
import contextlib
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from agentfn.errors import FileRejected
from agentfn.fetch import Fetcher, fetch_source, read_source
from agentfn.tools import File
from support.raw_http_server import RawHttpServer, http_response

RAW = bytes(range(256))

DATA = [
    ("data:,hello", File("file.txt", b"hello", "text/plain")),
    ("data:,", File("file.txt", b"", "text/plain")),
    ("data:;base64,aGk=", File("file.txt", b"hi", "text/plain")),
    ("data:text/csv,a%2Cb%0A", File("file.csv", b"a,b\n", "text/csv")),
    ("data:text/plain;charset=utf-8;base64,w6k=", File("file.txt", "é".encode(), "text/plain")),
    ("data:image/png;name=a%20b.png;base64,AA==", File("a b.png", b"\0", "image/png")),
    ("data:image/png;name=..%2F..%2Fx.png;base64,AA==", File("x.png", b"\0", "image/png")),
    ("DATA:Text/CSV;BASE64,aGk", File("file.csv", b"hi", "text/csv")),
    ("data:text/plain;base64,aGk%3D", File("file.txt", b"hi", "text/plain")),
    ("data:text/plain,é", File("file.txt", "é".encode(), "text/plain")),
    ("data:text/plain;base64,a G\nk =", File("file.txt", b"hi", "text/plain")),
    ("data:application/x-unknown,x", File("file", b"x", "application/x-unknown")),
]


@pytest.mark.parametrize(("source", "file"), DATA)
def test_a_data_uri_is_a_file(source: str, file: File) -> None:
    assert read_source(source) == file


def test_a_name_that_is_given_goes_before_the_uris_own() -> None:
    assert read_source("data:text/plain;name=a.txt,x", name="../b.txt").name == "b.txt"


@pytest.mark.parametrize(
    "text",
    [
        base64.b64encode(RAW).decode(),
        base64.b64encode(RAW).decode().rstrip("="),
        base64.urlsafe_b64encode(RAW).decode(),
        base64.urlsafe_b64encode(RAW).decode().rstrip("="),
        base64.encodebytes(RAW).decode(),
        f"  {base64.b64encode(RAW).decode()}\r\n",
    ],
    ids=["plain", "unpadded", "urlsafe", "urlsafe-unpadded", "lines", "blanks"],
)
def test_base64_in_all_its_dialects_is_a_file(text: str, folder: Path) -> None:
    assert read_source(text, name="x.bin") == File("x.bin", RAW)
    assert read_source(text, name="x.bin", folder=folder) == File("x.bin", RAW)
    assert read_source(f"data:;base64,{text}").content == RAW


@given(st.binary())
def test_all_bytes_come_through_both_ways(content: bytes) -> None:
    for text in (base64.b64encode(content).decode(), base64.urlsafe_b64encode(content).decode().rstrip("=")):
        assert read_source(f"data:a/b;base64,{text}").content == content
        if content:
            assert read_source(text).content == content


@pytest.mark.parametrize(
    "source",
    [
        "",
        " \n",
        "data:",
        "data:text/plain",
        "data:text/plain;base64,%%%",
        "data:text/plain;base64,a",
        "data:nonsense,x",
        "data:text/html\r\nX-Evil: 1,x",
        "not base64!",
        "abcde",
        "YWJj====",
        "é",
        "\ud83d",
        "http://example.com/a.txt",
        "https://example.com/a.txt",
        "HTTPS://example.com",
        "FILE:///etc/passwd",
        "file:///etc/passwd",
        "s3://bucket/key",
        "/etc/hosts.conf",
    ],
)
def test_what_is_no_source_is_refused(source: str, folder: Path) -> None:
    with pytest.raises(FileRejected):
        read_source(source)
    with pytest.raises(FileRejected):
        read_source(source, folder=folder)


def test_without_a_fetcher_addresses_are_refused_and_the_refusal_says_what_to_do() -> None:
    with pytest.raises(FileRejected, match="https addresses are not fetched; send the file's content"):
        read_source("https://example.com/a.txt")


def test_with_a_fetcher_an_address_is_a_file_like_any_other_source(folder: Path) -> None:
    fetcher = Fetcher(allow_loopback=True)
    with RawHttpServer(http_response(b"a,b", "Content-Type: text/csv; charset=utf-8")) as server:
        url = f"{server.url}/data/r%C3%A9sum%C3%A9.csv?x=1"
        assert asyncio.run(fetch_source(url, fetcher)) == File("résumé.csv", b"a,b", "text/csv")
        assert asyncio.run(fetch_source(f"{server.url}/", fetcher)) == File("file.csv", b"a,b", "text/csv")
        assert asyncio.run(fetch_source(url, fetcher, max_bytes=3)).size == 3
        with pytest.raises(FileRejected, match="more than 2 bytes"):
            asyncio.run(fetch_source(url, fetcher, max_bytes=2))
    for source, content in (("data:,x", b"x"), ("YQ==", b"a"), ("inside.txt", (folder / "inside.txt").read_bytes())):
        assert asyncio.run(fetch_source(source, fetcher, folder=folder)).read() == content


def test_without_a_folder_no_path_is_read_even_if_its_letters_are_base64() -> None:
    assert read_source("/etc/passwd").content == base64.b64decode("/etc/passwd=")


def test_a_path_leads_into_the_folder_and_nowhere_else(folder: Path) -> None:
    (folder / "deep").mkdir()
    (folder / "deep" / "a.txt").write_text("deep")
    assert read_source("inside.txt", folder=folder) == File("inside.txt", folder.resolve() / "inside.txt")
    assert read_source("deep/../deep/a.txt", folder=folder).read() == b"deep"
    assert read_source(str(folder / "inside.txt"), folder=folder, name="x.md").name == "x.md"
    for path in ("../outside.txt", str(folder.parent / "outside.txt"), "deep/../../outside.txt"):
        with pytest.raises(FileRejected, match=r"outside.txt lies outside the work folder"):
            read_source(path, folder=folder)


def test_a_link_is_where_it_leads(folder: Path) -> None:
    (folder / "out").symlink_to(folder.parent / "outside.txt")
    (folder / "in").symlink_to(folder / "inside.txt")
    (folder / "ring").symlink_to(folder / "ring")
    (folder / "up").symlink_to(folder.parent)
    assert read_source("in", folder=folder).read() == b"inside"
    for path in ("out", "up/outside.txt", "ring", "up"):
        with contextlib.suppress(FileRejected):
            file = read_source(path, folder=folder)
            assert isinstance(file.content, bytes), path  # letters that happen to be base64, and no file


def test_a_folder_is_no_file(folder: Path) -> None:
    (folder / "sub.d").mkdir()
    with pytest.raises(FileRejected):
        read_source("sub.d", folder=folder)


def test_the_limit_counts_for_every_form(folder: Path) -> None:
    (folder / "big.txt").write_text("x" * 11)
    text = base64.b64encode(b"x" * 11).decode()
    for source in (f"data:,{'x' * 11}", f"data:;base64,{text}", text, "big.txt"):
        with pytest.raises(FileRejected, match="11 bytes; 10 are allowed"):
            read_source(source, folder=folder, max_bytes=10)
        assert read_source(source, folder=folder, max_bytes=11).size == 11


@given(
    st.text(st.characters()) | st.text(alphabet="data:;,/base64=%name.txt").map("data:".__add__), st.text(max_size=9)
)
@example("data:,\ud83d", "")
@example("data:;name=%ff\ud83d,x", "")
@example("a" * 5000, "")
@example("\0", "")
def test_no_text_does_more_than_be_refused(source: str, name: str) -> None:
    for folder in (None, Path(__file__).parent):
        with contextlib.suppress(FileRejected):
            assert isinstance(read_source(source, name=name, folder=folder), File)
