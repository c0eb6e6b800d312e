"""Addresses that a caller or a model chose: what of them may be connected to."""

import asyncio
import ipaddress
import re
import socket
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from urllib.parse import urlsplit

from agentfn.errors import FileRefused

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Resolver = Callable[[str], Awaitable[list[str]]]

PORTS = {"http": 80, "https": 443}
LONGEST_URL = 8_192  # characters
NAME = re.compile(r"(?!-)[a-z0-9_-]{1,63}(?<!-)(\.(?!-)[a-z0-9_-]{1,63}(?<!-))*")
NUMBER = re.compile(r"\d+|0x[0-9a-f]*")
TARGET = re.compile(r"[!-~]*")
NAT64 = ipaddress.IPv6Network("64:ff9b::/96")


@dataclass(frozen=True)
class Place:
    """Where a URL leads, in parts that nobody has to parse again. `target` is its path and query."""

    scheme: str
    host: str
    port: int
    target: str


def read_url(url: str) -> Place:
    """Raises FileRefused for whatever two readers might understand differently: what is checked is what is used."""
    if len(url) > LONGEST_URL or not TARGET.fullmatch(url) or "\\" in url:
        raise FileRefused("the address must be ASCII without blanks and backslashes, at most 8,192 characters")
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        raise FileRefused("the address is none") from None
    scheme = parts.scheme.lower()
    if scheme not in PORTS:
        raise FileRefused("the address must begin with http:// or https://")
    if "@" in parts.netloc or not parts.hostname or port == 0:
        raise FileRefused("the address must name a host, and no user before it")
    target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    return Place(scheme, _host(parts.hostname), port or PORTS[scheme], target)


def literal(host: str) -> Address | None:
    """The host as an address, where it is one."""
    try:
        return ipaddress.ip_address(host)
    except ValueError:
        return None


def public(address: Address) -> bool:
    """Whether everybody may reach it; an IPv4 address inside an IPv6 one is looked at too."""
    inner = _inner(address)
    return address.is_global and not address.is_multicast and (inner is None or public(inner))


def allowed(host: str, hosts: Iterable[str]) -> bool:
    """Whether a list of names, as `example.com` and `*.example.com`, has the host."""
    return any(host.endswith(name[1:]) if name.startswith("*.") else host == name for name in hosts)


async def resolve(host: str) -> list[str]:
    """All addresses of a name. Raises OSError where it has none."""
    found = await asyncio.get_running_loop().getaddrinfo(host, None, type=socket.SOCK_STREAM)
    return [str(entry[4][0]) for entry in found]


def _host(host: str) -> str:
    """In lower case. A number at its end makes it an IPv4 address, which has one spelling only."""
    host = host.lower()
    if ":" in host:
        if "%" in host or not isinstance(literal(host), ipaddress.IPv6Address):
            raise FileRefused("the host is no IPv6 address")
        return host
    name = host.removesuffix(".")
    if len(name) > 253 or not NAME.fullmatch(name):
        raise FileRefused("the host is no name: letters, digits and hyphens; others as punycode")
    if NUMBER.fullmatch(name.rpartition(".")[2]) and literal(name) is None:
        raise FileRefused("the host is no IPv4 address in its usual form")
    return name


def _inner(address: Address) -> ipaddress.IPv4Address | None:
    if isinstance(address, ipaddress.IPv4Address):
        return None
    if address in NAT64:
        return ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
    teredo = address.teredo
    return address.ipv4_mapped or address.sixtofour or (teredo[1] if teredo else None)
