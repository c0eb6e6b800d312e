"""Names that change and redirects: whatever is said later, the address that was checked is connected to."""

import asyncio
from dataclasses import dataclass
from ipaddress import IPv4Address

import pytest

from agentfn.errors import FileRejected
from agentfn.fetch import Fetcher
from agentfn.fetch.address_policy import IpAddress
from support.raw_http_server import RawHttpServer, http_response, redirect_response
from support.resolvers import changing_resolver, resolver_for, resolver_to

OUTSIDE = "127.0.0.2"


@dataclass(frozen=True)
class Outside(Fetcher):
    """127.0.0.2 stands for a host of the internet; all else of this machine is what it is."""

    def is_permitted(self, address: IpAddress) -> bool:
        return address == IPv4Address(OUTSIDE) or super().is_permitted(address)


def refused(fetcher: Fetcher, url: str, match: str) -> None:
    with pytest.raises(FileRejected, match=match):
        asyncio.run(fetcher.fetch(url, 1_000))


def test_a_name_that_changes_after_its_check_is_checked_again(connected: list[str]) -> None:
    fetcher = Outside(resolver=changing_resolver(OUTSIDE, "10.0.0.1", "127.0.0.1"))
    asyncio.run(fetcher.check("http://turning.test/"))
    refused(fetcher, "http://turning.test/", "not public")
    refused(fetcher, "http://turning.test/", "not public")
    assert connected == []


def test_a_name_is_asked_for_once_and_connected_to_as_it_was_checked(connected: list[str]) -> None:
    """A second question would be answered with the private address."""
    with RawHttpServer(http_response(b"hello"), OUTSIDE) as outside:
        fetcher = Outside(resolver=changing_resolver(OUTSIDE))
        found = asyncio.run(fetcher.fetch(f"http://turning.test:{outside.port}/a.txt", 1_000))
        assert (found.content, found.name) == (b"hello", "a.txt")
        assert outside.header("host") == f"turning.test:{outside.port}"
    assert connected == [OUTSIDE]


INWARD = [
    "http://127.0.0.1:{port}/",
    "http://localhost:{port}/",
    "http://[::ffff:127.0.0.1]:{port}/",
    "//127.0.0.1:{port}/",
    "http://inward.test:{port}/",
    "http://169.254.169.254/latest/meta-data/",
    "http://user@127.0.0.2:{port}/",
    "file:///etc/passwd",
    "gopher://127.0.0.2/",
    "http://127.1:{port}/",
    "http://127.0.0.2\\@127.0.0.1:{port}/",
    "http://[/",
    "\xff",
    "",
]


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
@pytest.mark.parametrize("to", INWARD)
def test_a_public_host_that_leads_inside_is_not_followed(to: str, status: int, connected: list[str]) -> None:
    where = {"outside.test": [OUTSIDE], "localhost": ["127.0.0.1"], "inward.test": ["127.0.0.1"]}
    with (
        RawHttpServer(b"") as inside,
        RawHttpServer(redirect_response(to.format(port=inside.port), status), OUTSIDE) as outside,
    ):
        refused(Outside(resolver=resolver_for(where)), f"http://outside.test:{outside.port}/", "address|host")
        assert (outside.connections, inside.connections) == (1, 0)
    assert connected == [OUTSIDE]


def test_a_name_may_not_turn_inward_between_two_hops(connected: list[str]) -> None:
    with RawHttpServer(redirect_response("/again"), OUTSIDE) as outside:
        refused(
            Outside(resolver=changing_resolver(OUTSIDE, "127.0.0.1")),
            f"http://turning.test:{outside.port}/",
            "not public",
        )
    assert connected == [OUTSIDE]


def test_a_ring_of_redirects_ends_after_three(connected: list[str]) -> None:
    with RawHttpServer(redirect_response("/again"), OUTSIDE) as outside:
        refused(Outside(), f"{outside.url}/", "leads on more than 3 times")
        assert [head.split()[1] for head in outside.heads] == ["/", "/again", "/again", "/again"]


def test_three_redirects_are_followed_and_the_last_address_is_told() -> None:
    with (
        RawHttpServer(http_response(b"end", 'Content-Type: text/plain; charset="x"'), OUTSIDE) as last,
        RawHttpServer(redirect_response(f"{last.url}/files/end.txt?token=x#part"), OUTSIDE) as third,
        RawHttpServer(redirect_response(f"{third.url}/"), OUTSIDE) as second,
        RawHttpServer(redirect_response(f"{second.url}/"), OUTSIDE) as first,
    ):
        found = asyncio.run(Outside().fetch(f"{first.url}/", 1_000))
        assert (found.content, found.name, found.media_type) == (b"end", "end.txt", "text/plain")
        assert found.url == f"{last.url}/files/end.txt?token=x#part"
        assert last.heads[0].startswith("GET /files/end.txt?token=x HTTP/1.1\r\n")


def test_nothing_of_ours_goes_along() -> None:
    with (
        RawHttpServer(http_response(b""), OUTSIDE) as last,
        RawHttpServer(redirect_response(last.url), OUTSIDE) as first,
    ):
        asyncio.run(Outside().fetch(f"{first.url}/secret?token=x", 1_000))
        sent = {line.partition(":")[0].lower() for line in last.heads[0].splitlines()[1:] if line}
        assert sent == {"host", "accept", "accept-encoding", "user-agent", "connection"}


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_webhook_is_never_followed_and_its_secrets_stay(status: int) -> None:
    with (
        RawHttpServer(b"", OUTSIDE) as elsewhere,
        RawHttpServer(redirect_response(elsewhere.url, status), OUTSIDE) as hook,
    ):
        headers = {"Authorization": "Bearer secret", "Content-Type": "application/json"}
        assert asyncio.run(Outside().post(f"{hook.url}/hook", b"{}", headers)) == status
        assert hook.bodies == [b"{}"]
        assert hook.header("authorization") == "Bearer secret"
        assert elsewhere.connections == 0


def test_proxies_of_the_environment_are_not_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    with RawHttpServer(http_response(b"proxied")) as proxy, RawHttpServer(http_response(b"direct"), OUTSIDE) as outside:
        for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
            monkeypatch.setenv(name, proxy.url)
        assert asyncio.run(Outside().fetch(outside.url, 1_000)).content == b"direct"
        assert proxy.connections == 0


def test_the_next_of_a_host_s_addresses_is_tried_and_none_that_was_not_checked(connected: list[str]) -> None:
    with RawHttpServer(http_response(b"here"), OUTSIDE) as outside:
        fetcher = Fetcher(allow_loopback=True, resolver=resolver_to("127.0.0.3", "127.0.0.3", OUTSIDE))
        assert asyncio.run(fetcher.fetch(f"http://many.test:{outside.port}/", 1_000)).content == b"here"
    assert connected == ["127.0.0.3", OUTSIDE]


def test_a_host_with_a_thousand_addresses_has_few_of_them_tried(connected: list[str]) -> None:
    many = resolver_to(*(f"127.0.{high}.{low}" for high in range(1, 5) for low in range(250)))
    refused(Fetcher(allow_loopback=True, resolver=many), "http://many.test:1024/", "cannot be reached")
    assert len(connected) == 4
