"""Addresses that would reach what only this machine can: refused by every door, and never connected to."""

import asyncio
import ipaddress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentfn.errors import FileRejected
from agentfn.fetch import Fetcher
from agentfn.fetch.address_policy import is_public
from support.resolvers import HOST_ADDRESSES, resolver_for, resolver_to

FORBIDDEN = [
    "http://169.254.169.254/",
    "http://169.254.170.2/v2/credentials",
    "http://[fd00:ec2::254]/latest/meta-data/",
    "http://[::ffff:169.254.169.254]/",
    "http://[::ffff:a9fe:a9fe]/",
    "http://[64:ff9b::169.254.169.254]/",
    "http://[64:ff9b:1::a9fe:a9fe]/",
    "http://[2002:a9fe:a9fe::]/",
    "http://[2001:0:a9fe:a9fe::1]/",
    "http://[::169.254.169.254]/",
    "http://[::ffff:0:169.254.169.254]/",
    "http://[::1]/",
    "http://[::]/",
    "http://[fe80::1%25eth0]/",
    "http://[fe80::1%eth0]/",
    "http://[2606:4700:4700::1111%25eth0]/",
    "http://[v1.example.com]/",
    "http://[::1]example.com/",
    "http://example.com[::1]/",
    "http://[8.8.8.8]/",
    "http://2130706433/",
    "http://0x7f000001/",
    "http://0x7f.1/",
    "http://0x/",
    "http://0177.0.0.1/",
    "http://127.1/",
    "http://127.0.1/",
    "http://127.0.0.1./",
    "http://0.0.0.0/",
    "http://0/",
    "http://255.255.255.255/",
    "http://256.256.256.256/",
    "http://example.com.0x7f/",
    "http://localhost:9001/2018-06-01/runtime/invocation/next",
    "http://LOCALHOST/",
    "http://localhost./",
    "http://private.test/",
    "http://private.test./",
    "http://mixed.test/",
    "http://mixed6.test/",
    "http://127.0.0.1.nip.io/",
    "http://metadata.google.internal/computeMetadata/v1/",
    "http://mapped.test/",
    "http://zone.test/",
    "http://public-zone.test/",
    "http://odd.test/",
    "http://octal.test/",
    "http://empty.test/",
    "http://no-such-name.test/",
    "file:///etc/passwd",
    "FILE:///etc/passwd",
    "gopher://public.test/_x",
    "ftp://public.test/x",
    "data:text/plain,x",
    "javascript:alert(1)",
    "//public.test/",
    "public.test",
    "",
    "http:",
    "http://",
    "http:///etc/passwd",
    "http:public.test/",
    "http:/public.test/",
    "http://:80/",
    "http://?x",
    "http://#x",
    "http://user@127.0.0.1@public.test",
    "http://user@public.test/",
    "http://user:word@public.test/",
    "http://@public.test/",
    "http://public.test:80@127.0.0.1/",
    "http://public.test\\@127.0.0.1/",
    "http://public.test\\.evil.test/",
    "http://public.test/\\..\\x",
    "http:\\\\public.test/",
    "http://public.test%2f@127.0.0.1/",
    "http://127%2e0%2e0%2e1/",
    "http://public.test:0/",
    "http://public.test:22/",
    "http://public.test:25/",
    "http://public.test:65536/",
    "http://public.test:99999999999/",
    "http://public.test:-80/",
    "http://public.test:+80/",
    "http://public.test:8 0/",
    "http://public.test:80:81/",
    "http://public.test:٨٠/",
    "http:// public.test/",
    " http://public.test/",
    "http://public.test/\r\nX-Evil: 1",
    "http://public.test/\0",
    "http://public.test\t/",
    "http://public..test/",
    "http://.public.test/",
    "http://public.test../",
    "http://-public.test/",
    "http://public-.test/",
    "http://pub!lic.test/",
    "http://*/",
    "http://\uff11\uff12\uff17.0.0.1/",
    "http://127\u30020\u30020\u30021/",
    "http://ⓛocalhost/",
    "http://lo\u00adcalhost/",
    "http://bücher.test/",
    "http://public.test/\u202e",
    f"http://{'a' * 64}.test/",
    f"http://{'a.' * 130}test/",
    f"http://public.test/{'a' * 9_000}",
    f"http://{'a' * 1_000_000}/",
]


@pytest.mark.parametrize("url", FORBIDDEN, ids=lambda url: url[:60].encode("ascii", "backslashreplace").decode())
def test_a_forbidden_address_is_refused_by_every_door_and_never_connected_to(url: str, connected: list[str]) -> None:
    fetcher = Fetcher(resolver=resolver_for(HOST_ADDRESSES))
    hidden = [
        address for host, found in HOST_ADDRESSES.items() if host in url for address in found if address not in url
    ]
    for door in (fetcher.check, lambda url: fetcher.fetch(url, 1_000), lambda url: fetcher.post(url, b"{}", {})):
        with pytest.raises(FileRejected) as refused:
            asyncio.run(door(url))
        assert not any(address in str(refused.value) for address in hidden), "tells where the name leads"
    assert connected == []


@pytest.mark.parametrize(
    "url",
    [
        "http://8.8.8.8/",
        "https://1.1.1.1:8443/x",
        "http://[2606:4700:4700::1111]/",
        "http://[64:ff9b::8.8.8.8]/",
        "HTTPS://Public.TEST",
        "http://public.test./",
        "http://public.test:/x?y=http://127.0.0.1/",
        "http://public.test?x",
        "http://public.test#@127.0.0.1",
        "http://public6.test/a@b:c",
    ],
)
def test_a_public_address_is_fine(url: str) -> None:
    asyncio.run(Fetcher(resolver=resolver_for(HOST_ADDRESSES)).check(url))


SPECIAL = [
    *("0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12", "192.0.0.0/24"),
    *("192.0.2.0/24", "192.88.99.0/24", "192.168.0.0/16", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24"),
    *("224.0.0.0/4", "240.0.0.0/4"),
]
SPECIAL6 = [
    *("::/8", "64:ff9b:1::/48", "100::/64", "2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20", "4000::/3"),
    *("5f00::/16", "fc00::/7", "fe80::/10", "fec0::/10", "ff00::/8"),
]


def inside(network: str) -> st.SearchStrategy[int]:
    net = ipaddress.ip_network(network)
    return st.integers(int(net.network_address), int(net.broadcast_address))


@given(st.sampled_from(SPECIAL).flatmap(inside))
def test_no_ipv4_address_of_a_special_network_is_public_in_any_dress(number: int) -> None:
    assert not is_public(ipaddress.IPv4Address(number))
    dresses = ["::ffff:0:0", "64:ff9b::", "::", "::ffff:0:0:0"]
    assert not any(is_public(ipaddress.IPv6Address(int(ipaddress.IPv6Address(dress)) + number)) for dress in dresses)
    assert not is_public(ipaddress.IPv6Address((0x2002 << 112) + (number << 80)))
    assert not is_public(ipaddress.IPv6Address((0x20010000 << 96) + (number ^ 0xFFFFFFFF)))


@given(st.sampled_from(SPECIAL6).flatmap(inside))
def test_no_ipv6_address_of_a_special_network_is_public(number: int) -> None:
    address = ipaddress.IPv6Address(number)
    assert address.ipv4_mapped or not is_public(address)


def test_with_a_list_of_hosts_nothing_else_is_reached() -> None:
    fetcher = Fetcher(
        hosts=("Public.test", "*.example.com"), resolver=resolver_for({**HOST_ADDRESSES, "a.example.com": ["8.8.8.8"]})
    )
    for url in ("http://public.test/", "https://a.example.com/"):
        asyncio.run(fetcher.check(url))
    for url in ("http://public6.test/", "http://example.com/", "http://badexample.com/", "http://93.184.216.34/"):
        with pytest.raises(FileRejected, match="is not among the hosts in AGENTFN_FETCH_HOSTS"):
            asyncio.run(fetcher.check(url))


def test_a_host_on_the_list_must_be_public_too() -> None:
    with pytest.raises(FileRejected, match="not public"):
        asyncio.run(
            Fetcher(hosts=("private.test",), resolver=resolver_for(HOST_ADDRESSES)).check("http://private.test/")
        )


def test_in_lambda_loopback_is_never_permitted(monkeypatch: pytest.MonkeyPatch, connected: list[str]) -> None:
    fetcher = Fetcher(allow_loopback=True, resolver=resolver_for(HOST_ADDRESSES))
    asyncio.run(fetcher.check("http://localhost:9001/"))
    monkeypatch.setenv("AWS_LAMBDA_RUNTIME_API", "127.0.0.1:9001")
    with pytest.raises(FileRejected):
        asyncio.run(fetcher.fetch("http://localhost:9001/2018-06-01/runtime/invocation/next", 1_000))
    assert connected == []


@pytest.mark.parametrize(
    "host", ["134744072", "0x8080808", "010.8.8.8", "8.8.2056", "8.8", "a.0x8", "a.8", "8.8.8.8.8"]
)
def test_an_odd_spelling_of_a_number_is_refused_even_where_it_leads_outside(host: str) -> None:
    with pytest.raises(FileRejected, match="no IPv4 address in its usual form"):
        asyncio.run(Fetcher(resolver=resolver_to("8.8.8.8")).check(f"http://{host}/"))


@pytest.mark.parametrize("url", ["http://10.0.0.1/", "http://169.254.169.254/", "http://[fd00::1]/", "http://0.0.0.0/"])
def test_loopback_permits_loopback_alone(url: str) -> None:
    with pytest.raises(FileRejected):
        asyncio.run(Fetcher(allow_loopback=True).check(url))
