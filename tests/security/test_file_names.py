"""Names that come with a file: each is one safe name in one folder, whatever it says."""

import asyncio
import contextlib
import unicodedata
from pathlib import Path
from urllib.parse import quote

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from agentfn.errors import FileRejected
from agentfn.fetch import Fetcher, fetch_source
from agentfn.fetch.fetch_response import choose_file_name
from support.raw_http_server import RawHttpServer, http_response

HOSTILE = {
    "../../x": "x",
    "..\\..\\x": "x",
    "/etc/passwd": "passwd",
    "C:\\Windows\\x.txt": "x.txt",
    "sub/folder/a.txt": "a.txt",
    "x\r\nA: b": "xA: b",
    "x\0.txt": "x.txt",
    "\u202egnp.exe": "gnp.exe",
    "a\u2066b\u2069.txt": "ab.txt",
    "\ufeffa.txt": "a.txt",
    ".": "file.txt",
    "..": "file.txt",
    "...": "file.txt",
    "": "file.txt",
    "  ": "file.txt",
    "/": "file.txt",
    ".ssh": "ssh",
    "CON": "CON",
    "NUL.txt": "NUL.txt",
    "a" * 10_000 + ".pdf": "a" * 196 + ".pdf",
    "é" * 10_000: "é" * 100,
    "漢字.txt": "漢字.txt",
}


@pytest.mark.parametrize("name", HOSTILE, ids=lambda name: ascii(name)[:30])
def test_a_hostile_name_is_made_safe_wherever_it_comes_from(name: str) -> None:
    safe = HOSTILE[name]
    assert (
        choose_file_name(f"attachment; filename*=UTF-8''{quote(name, safe='')}", "http://a.test/", "text/plain") == safe
    )
    assert choose_file_name("", f"http://a.test/{quote(name, safe='')}?x=/y.txt#/z.txt", "text/plain") == safe


def test_the_header_s_name_goes_before_the_path_s_and_the_caller_s_before_both() -> None:
    with RawHttpServer(http_response(b"x", "Content-Disposition: attachment; filename=report.csv")) as server:
        fetcher = Fetcher(allow_loopback=True)
        url = f"{server.url}/b/path.csv"
        assert asyncio.run(fetch_source(url, fetcher)).name == "report.csv"
        assert asyncio.run(fetch_source(url, fetcher, name="../mine.csv")).name == "mine.csv"
        server.answer = http_response(b"x", "Content-Disposition: inline")
        assert asyncio.run(fetch_source(url, fetcher)).name == "path.csv"


@pytest.mark.parametrize(
    ("disposition", "name"),
    [
        ('attachment; filename="a b.csv"', "a b.csv"),
        ("attachment; filename=plain.csv; filename*=UTF-8''r%C3%A9sum%C3%A9.csv", "résumé.csv"),
        ("attachment; filename*=ISO-8859-1''r%E9sum%E9.csv", "résumé.csv"),
        ("attachment; filename=" + "résumé.csv".encode().decode("latin-1"), "résumé.csv"),
        ("attachment; filename=r\xe9sum\xe9.csv", "résumé.csv"),
        ("attachment; filename*=no-such-charset''a%FF.csv", "path.txt"),
        ("attachment; filename*=idna''%FF; filename=a.csv", "a.csv"),
        ("attachment; FILENAME*=utf-8'de'%FF.csv", "\ufffd.csv"),
        ('attachment; filename="a \\"b\\" ; c.csv"; size=1', "a b ; c.csv"),
        ("attachment; xfilename=a.csv", "path.txt"),
        ("attachment; filename*=''", "path.txt"),
        ("attachment; filename=", "path.txt"),
        (";;;", "path.txt"),
    ],
)
def test_a_disposition_is_read_in_all_its_dialects(disposition: str, name: str) -> None:
    assert choose_file_name(disposition, "https://a.test/path.txt", "") == name


@given(st.text(max_size=60) | st.text("filename*=UTF-8'%\"; a.1\\", max_size=40).map("attachment; filename".__add__))
@example("attachment; filename*=utf-16''a")
@example("attachment; filename*0*=idna''%ff; filename*1=b")
@example("=?utf-8?q?a?=")
def test_any_header_and_any_path_give_one_name_in_one_folder(text: str) -> None:
    for name in (choose_file_name(text, "http://a.test/", ""), choose_file_name("", f"http://a.test/{text}", text)):
        assert Path(name).name == name
        assert (Path("/work") / name).resolve().parent == Path("/work")
        assert len(name.encode()) <= 255
        assert not any(unicodedata.category(char) in ("Cc", "Cf", "Cs", "Zl", "Zp") for char in name)


def test_a_source_that_is_an_address_reads_no_file_of_that_name(tmp_path: Path) -> None:
    (tmp_path / "http:" / "private.test").mkdir(parents=True)
    (tmp_path / "http:" / "private.test" / "a").write_text("secret")
    for source in ("http://private.test/a", "HTTP://private.test/a"):
        with pytest.raises(FileRejected):
            asyncio.run(fetch_source(source, Fetcher(), folder=tmp_path))
    for source in ("../../etc/passwd", "/etc/hosts", "file:///etc/passwd", "FILE:///etc/passwd"):
        with contextlib.suppress(FileRejected):
            found = asyncio.run(fetch_source(source, Fetcher(), folder=tmp_path))
            assert isinstance(found.content, bytes), "letters that happen to be base64, and no file"
