"""Answers that never end, lie about their length, or unfold: read as far as allowed, and no longer than allowed."""

import asyncio
import gzip
import threading

import pytest

from agentfn.errors import FileRejected
from agentfn.fetch import Fetcher
from support.raw_http_server import RawHttpServer, RawResponse, Write, http_response

LIMIT = 100_000
HEAD = b"HTTP/1.1 200 OK\r\n"
CHUNKED = HEAD + b"Transfer-Encoding: chunked\r\n\r\n"


def endless(head: bytes, part: bytes) -> RawResponse:
    def say(write: Write, over: threading.Event) -> None:
        write(head)
        while not over.is_set():
            write(part)

    return say


def dripping(head: bytes, part: bytes) -> RawResponse:
    def say(write: Write, over: threading.Event) -> None:
        write(head)
        while not over.wait(0.05):
            write(part)

    return say


BOMB = gzip.compress(b"\0" * 10_000_000)

REFUSED: dict[str, tuple[RawResponse, str]] = {
    "endless": (endless(HEAD + b"\r\n", b"x" * 10_000), "more than 100,000 bytes"),
    "endless chunks": (endless(CHUNKED, b"400\r\n" + b"x" * 1024 + b"\r\n"), "more than 100,000 bytes"),
    "an endless chunk": (endless(CHUNKED + b"ffffffffffff\r\n", b"x" * 10_000), "more than 100,000 bytes"),
    "a chunk without end in its length": (endless(CHUNKED, b"f" * 1_000), "cannot be reached"),
    "an endless name of a chunk": (endless(CHUNKED + b"1;", b"x" * 1_000), "cannot be reached"),
    "endless trailers": (endless(CHUNKED + b"0\r\n", b"X-A: b\r\n" * 100), "cannot be reached"),
    "endless headers": (endless(HEAD, b"X-A: b\r\n" * 100), "cannot be reached"),
    "an endless header": (endless(HEAD + b"X-A: ", b"x" * 10_000), "cannot be reached"),
    "an endless status": (endless(b"HTTP/1.1 200 ", b"x" * 10_000), "cannot be reached"),
    "endless patience": (endless(b"", b"HTTP/1.1 100 Continue\r\n\r\n"), "within 0.5 s"),
    "a slow body": (dripping(HEAD + b"\r\n", b"x"), "within 0.5 s"),
    "a slow head": (dripping(b"HTTP/1.1 200 OK\r\nX-A: ", b"x"), "within 0.5 s"),
    "silence": (dripping(b"", b""), "within 0.5 s"),
    "too much, and it says so": (http_response(b"x" * (LIMIT + 1)), "more than 100,000 bytes"),
    "a length beyond all": (HEAD + b"Content-Length: " + b"9" * 5_000 + b"\r\n\r\n", "cannot be reached|more than"),
    "less than it says": (HEAD + b"Content-Length: 10\r\n\r\nshort", "cannot be reached"),
    "two lengths": (HEAD + b"Content-Length: 1\r\nContent-Length: 2\r\n\r\nab", "cannot be reached"),
    "a length below nought": (HEAD + b"Content-Length: -1\r\n\r\n", "cannot be reached"),
    "a length in words": (HEAD + b"Content-Length: many\r\n\r\n", "cannot be reached"),
    "a length in superscript": (HEAD + b"Content-Length: \xb2\r\n\r\n", "cannot be reached"),
    "a bomb": (http_response(BOMB, "Content-Encoding: gzip"), "compressed"),
    "a bomb in a bomb": (http_response(BOMB, "Content-Encoding: gzip, gzip"), "compressed"),
    "another bomb": (http_response(BOMB, "Content-Encoding: BR"), "compressed"),
    "a bomb on its way": (HEAD + b"Transfer-Encoding: gzip, chunked\r\n\r\n", "cannot be reached"),
    "nothing": (b"", "cannot be reached"),
    "no HTTP": (b"220 mail.test ESMTP\r\n" * 10, "cannot be reached"),
    "binary": (bytes(range(256)) * 10, "cannot be reached"),
    "a header in a header": (HEAD + b"X-A: b\0c\r\n\r\n", "cannot be reached"),
    "other protocols": (b"HTTP/1.1 101 Switching\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n", "cannot be reached"),
    "a part": (http_response(b"part", status="206 Partial Content"), "status 206"),
    "nothing new": (http_response(b"", status="304 Not Modified"), "status 304"),
    "not found": (http_response(b"", status="404 Not Found"), "status 404"),
    "broken": (http_response(b"", status="500 Oh"), "status 500"),
    "nowhere": (http_response(b"", status="302 Found"), "without saying where to"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_a_bad_answer_is_refused_in_time(case: str) -> None:
    said, match = REFUSED[case]
    seconds = 0.5 if "within" in match else 30
    with RawHttpServer(said) as server, pytest.raises(FileRejected, match=match):
        asyncio.run(Fetcher(seconds, allow_loopback=True).fetch(server.url, LIMIT))


TAKEN: dict[str, tuple[RawResponse, bytes]] = {
    "as much as is allowed": (http_response(b"x" * LIMIT), b"x" * LIMIT),
    "more than it says": (HEAD + b"Content-Length: 2\r\n\r\nabc", b"ab"),
    "one byte at a time": (CHUNKED + b"1\r\nx\r\n" * 9_999 + b"0\r\n\r\n", b"x" * 9_999),
    "until it closes": (HEAD + b"\r\nabc", b"abc"),
    "zipped by itself": (http_response(BOMB, "Content-Type: application/gzip", "Content-Encoding: identity"), BOMB),
    "without a kind": (http_response(b"abc", "Content-Type: text/html\tx/y,,"), b"abc"),
    "after patience": (b"HTTP/1.1 103 Early Hints\r\n\r\n" + http_response(b"abc"), b"abc"),
}


@pytest.mark.parametrize("case", TAKEN)
def test_what_can_be_read_is_read_byte_for_byte(case: str) -> None:
    said, content = TAKEN[case]
    with RawHttpServer(said) as server:
        found = asyncio.run(Fetcher(30, allow_loopback=True).fetch(server.url, LIMIT))
    assert found.content == content
    assert found.media_type in ("", "application/gzip")


def test_a_webhook_s_endless_answer_is_not_read() -> None:
    for said in (endless(HEAD + b"\r\n", b"x" * 10_000), dripping(HEAD + b"\r\n", b"x")):
        with RawHttpServer(said) as server:
            assert asyncio.run(Fetcher(30, allow_loopback=True).post(server.url, b"{}", {})) == 200


@pytest.mark.parametrize("value", ["a\r\nX-Evil: 1", "a\nX-Evil: 1", "a\r", "a\0"])
def test_a_webhook_s_header_cannot_bring_others_along(value: str) -> None:
    with RawHttpServer(http_response(b"")) as server:
        with pytest.raises(FileRejected):
            asyncio.run(Fetcher(30, allow_loopback=True).post(server.url, b"{}", {"X-Token": value}))
        assert "X-Evil" not in "".join(server.heads)


def test_a_name_server_that_does_not_answer_takes_no_more_time_than_allowed() -> None:
    async def silent(_: str) -> list[str]:
        await asyncio.sleep(3600)
        return []

    fetcher = Fetcher(0.2, resolver=silent)
    for door in (fetcher.check, lambda url: fetcher.fetch(url, 1), lambda url: fetcher.post(url, b"", {})):
        with pytest.raises(FileRejected, match=r"within 0\.2 s"):
            asyncio.run(door("http://slow.test/"))
