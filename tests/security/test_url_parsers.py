"""URLs that readers may understand differently: the host that is checked is the host that is connected to."""

import asyncio
import contextlib
from collections.abc import Callable, Iterator
from urllib.parse import urlsplit

import httpx
import pytest
import urllib3.util
import yarl
from hypothesis import example, given
from hypothesis import strategies as st

from agentfn.errors import FileRejected
from agentfn.fetch import Fetcher
from agentfn.fetch.address_policy import parse_ip_address, parse_url
from support.raw_http_server import RawHttpServer, http_response

HOSTS = ["public.test", "127.0.0.1", "[::1]", "[v1.x]", "0x7f", "0177", "1", "localhost", "xn--bcher-kva.test", "a_b"]
MARKS = [*"@:/\\?#[].%&;,=+-_~!$'()*|^`<>\"{} \t\r\n\0", "//", "::", "%2f", "%40", "%00", "%25", "..", "http://"]
STRANGE = ["\u3002", "\uff0e", "\uff0f", "\uff20", "\u2100", "\u00ad", "\u200d", "\uff11", "\ud83d", "é"]
PIECES = st.sampled_from([*HOSTS, *MARKS, *STRANGE, "80", "443", "8080", "user", "word"])
TAILS = st.lists(PIECES | st.text(max_size=3), max_size=8).map("".join)
URLS = st.builds(str.__add__, st.sampled_from(["http://", "https://", "HTTP://", "http:/", "http:"]), TAILS)


def _bare(host: str | None) -> str:
    address = parse_ip_address((host or "").strip("[]"))
    return str(address) if address else (host or "").lower().removesuffix(".")


def _urllib3(url: str) -> tuple[str | None, int | None]:
    parts = urllib3.util.parse_url(url)
    return parts.host, parts.port


def _yarl(url: str) -> tuple[str | None, int | None]:
    parts = yarl.URL(url)
    return parts.raw_host, parts.explicit_port


READERS: dict[str, Callable[[str], tuple[str | None, int | None]]] = {
    "urllib": lambda url: (urlsplit(url).hostname, urlsplit(url).port),
    "httpx": lambda url: (httpx.URL(url).raw_host.decode(), httpx.URL(url).port),
    "urllib3": _urllib3,
    "yarl": _yarl,
}


@pytest.mark.parametrize("reader", READERS)
@given(URLS)
@example("http://public.test#@127.0.0.1")
@example("http://public.test?@127.0.0.1")
@example("http://public.test/@127.0.0.1")
@example("http://public.test;@127.0.0.1")
@example("http://public.test:80#@127.0.0.1:8080/")
def test_whatever_is_taken_all_readers_understand_alike(reader: str, url: str) -> None:
    try:
        place = parse_url(url)
    except FileRejected:
        return
    with contextlib.suppress(ValueError, httpx.InvalidURL, urllib3.exceptions.LocationParseError):  # he is stricter
        host, port = READERS[reader](url)
        assert (_bare(host), port or {"http": 80, "https": 443}[place.scheme]) == (place.host, place.port)


@pytest.fixture(scope="module")
def server() -> Iterator[RawHttpServer]:
    with RawHttpServer(http_response(b"x")) as listener:
        yield listener


@given(before=TAILS, after=TAILS)
@example(before="public.test", after="#@127.0.0.1")
@example(before="public.test.", after="?@127.0.0.1")
@example(before="127.0.0.1", after="/")
def test_the_host_that_is_asked_for_is_the_one_that_was_resolved(
    server: RawHttpServer, before: str, after: str
) -> None:
    asked: list[str] = []

    async def resolver(host: str) -> list[str]:
        asked.append(host)
        return ["127.0.0.1"]

    server.heads.clear()
    url = f"http://{before}:{server.port}{after}"
    with contextlib.suppress(FileRejected):
        asyncio.run(Fetcher(30, allow_loopback=True, resolver=resolver).fetch(url, 1_000))
    if server.heads:
        host, _, port = server.header("host").rpartition(":")
        assert asked == ([] if parse_ip_address(host) else [host])
        assert (_bare(urlsplit(url).hostname), urlsplit(url).port) == (host, server.port)
        assert server.heads[0].lower().count("\r\nhost:") == len(server.heads) == 1
        assert int(port) == server.port
