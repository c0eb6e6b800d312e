"""Addresses that a caller or a model chose: what of them may be connected to."""

import asyncio
import ipaddress
import re
import socket
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass

from agentfn.errors import FileRefused

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Resolver = Callable[[str], Awaitable[list[str]]]

PORTS = {"http": 80, "https": 443}
LOWEST_PORT = 1024  # but for those two: mail, shells and the like are below, and mistake a request for their own
LONGEST_URL = 8_192  # characters
PLAIN = re.compile(r"[!-~]*")  # ASCII without blanks
URL = re.compile(r"(https?)://(\[[0-9a-f:.]+\]|[a-z0-9._-]+)(?::([0-9]{0,5}))?([/?][^#]*)?(?:#.*)?", re.IGNORECASE)
NAME = re.compile(r"(?!-)[a-z0-9_-]{1,63}(?<!-)(\.(?!-)[a-z0-9_-]{1,63}(?<!-))*")
NUMBER = re.compile(r"[0-9]+|0x[0-9a-f]*")
NAT64 = ipaddress.IPv6Network("64:ff9b::/96")
GIVEN_OUT = ipaddress.IPv6Network("2000::/3")
# What counts as global though no public host has it: protocols' own (Teredo among them), 6to4 and its relays,
# documentation, and the platform's address on Azure.
NOT_PUBLIC = [
    ipaddress.ip_network(network)
    for network in ("192.0.0.0/24", "192.88.99.0/24", "168.63.129.16/32", "2001::/23", "2002::/16", "3fff::/20")
]


@dataclass(frozen=True)
class Place:
    """Where a URL leads, in parts that nobody has to parse again. `target` is its path and query."""

    scheme: str
    host: str
    port: int
    target: str

    @property
    def authority(self) -> str:
        """The host as the Host header has it."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == PORTS[self.scheme] else f"{host}:{self.port}"


def read_url(url: str) -> Place:
    """Raises FileRefused for whatever two readers might understand differently: what is checked is what is used."""
    if len(url) > LONGEST_URL or not PLAIN.fullmatch(url) or "\\" in url:
        raise FileRefused("the address must be ASCII without blanks and backslashes, at most 8,192 characters")
    if not url.lower().startswith(("http://", "https://")):
        raise FileRefused("the address must begin with http:// or https://")
    parts = URL.fullmatch(url)
    if parts is None:
        raise FileRefused("the address must name a host, with no user before it")
    scheme, host, digits, target = parts.group(1).lower(), parts.group(2).lower(), parts.group(3), parts.group(4) or "/"
    port = int(digits or PORTS[scheme])
    if port not in PORTS.values() and not LOWEST_PORT <= port <= 65_535:
        raise FileRefused("the address must have port 80, 443, or one from 1024 on")
    return Place(scheme, _host(host), port, target if target.startswith("/") else f"/{target}")


def literal(host: str) -> Address | None:
    """The host as an address, where it is one."""
    try:
        return ipaddress.ip_address(host)
    except ValueError:
        return None


def public(address: Address) -> bool:
    """Whether everybody may reach it. An IPv6 address that stands for an IPv4 one is what that one is."""
    if isinstance(address, ipaddress.IPv6Address):
        if (inner := _inner(address)) is not None:
            return public(inner)
        if address not in GIVEN_OUT or address.scope_id:
            return False
    return address.is_global and not address.is_multicast and not any(address in network for network in NOT_PUBLIC)


def allowed(host: str, hosts: Iterable[str]) -> bool:
    """Whether a list of names, as `example.com` and `*.example.com`, has the host."""
    names = (name.lower() for name in hosts)
    return any(host.endswith(name[1:]) if name.startswith("*.") else host == name for name in names)


async def resolve(host: str) -> list[str]:
    """All addresses of a name. Raises OSError where it has none."""
    found = await asyncio.get_running_loop().getaddrinfo(host, None, type=socket.SOCK_STREAM)
    return [str(entry[4][0]) for entry in found]


def _host(host: str) -> str:
    """A number at its end makes it an IPv4 address, which has one spelling only."""
    if host.startswith("["):
        address = literal(host[1:-1])
        if not isinstance(address, ipaddress.IPv6Address):
            raise FileRefused("the host is no IPv6 address")
        return str(address)
    name = host.removesuffix(".")
    if len(name) > 253 or not NAME.fullmatch(name):
        raise FileRefused("the host is no name: letters, digits and hyphens; others as punycode")
    if NUMBER.fullmatch(name.rpartition(".")[2]) and literal(name) is None:
        raise FileRefused("the host is no IPv4 address in its usual form")
    return name


def _inner(address: ipaddress.IPv6Address) -> ipaddress.IPv4Address | None:
    if address in NAT64:
        return ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
    return address.ipv4_mapped
