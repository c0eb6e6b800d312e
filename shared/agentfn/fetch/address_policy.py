"""Parses URLs that a caller or a model chose, and decides which IP addresses may be connected to."""

import asyncio
import ipaddress
import re
import socket
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass

from agentfn.errors import FileRejected

IpAddress = ipaddress.IPv4Address | ipaddress.IPv6Address
Resolver = Callable[[str], Awaitable[list[str]]]

DEFAULT_PORTS = {"http": 80, "https": 443}
MIN_CUSTOM_PORT = 1024  # system services listen below it, and some take an HTTP request for commands of their own
MAX_URL_CHARS = 8_192
PRINTABLE_ASCII = re.compile(r"[!-~]*")  # without the space
URL_PATTERN = re.compile(
    r"(https?)://(\[[0-9a-f:.]+\]|[a-z0-9._-]+)(?::([0-9]{0,5}))?([/?][^#]*)?(?:#.*)?", re.IGNORECASE
)
HOST_NAME_PATTERN = re.compile(r"(?!-)[a-z0-9_-]{1,63}(?<!-)(\.(?!-)[a-z0-9_-]{1,63}(?<!-))*")
NUMERIC_LABEL_PATTERN = re.compile(r"[0-9]+|0x[0-9a-f]*")
NAT64_NETWORK = ipaddress.IPv6Network("64:ff9b::/96")
ALLOCATED_IPV6 = ipaddress.IPv6Network("2000::/3")
# Networks that Python takes for global, but that have no public hosts: protocol assignments (Teredo among them), 6to4
# and its relays, documentation, and the platform's address on Azure.
RESERVED_NETWORKS = [
    ipaddress.ip_network(network)
    for network in ("192.0.0.0/24", "192.88.99.0/24", "168.63.129.16/32", "2001::/23", "2002::/16", "3fff::/20")
]


@dataclass(frozen=True)
class Target:
    """A parsed URL. `request_target` is its path and query."""

    scheme: str
    host: str
    port: int
    request_target: str

    @property
    def authority(self) -> str:
        """The value of the Host header."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == DEFAULT_PORTS[self.scheme] else f"{host}:{self.port}"


def parse_url(url: str) -> Target:
    """Parses an http or https URL so strictly that no other parser finds another host in it. Raises FileRejected."""
    if len(url) > MAX_URL_CHARS or not PRINTABLE_ASCII.fullmatch(url) or "\\" in url:
        raise FileRejected("the address must be ASCII without blanks and backslashes, at most 8,192 characters")
    if not url.lower().startswith(("http://", "https://")):
        raise FileRejected("the address must begin with http:// or https://")
    parts = URL_PATTERN.fullmatch(url)
    if parts is None:
        raise FileRejected("the address must name a host, with no user before it")
    scheme, host, digits, target = parts.group(1).lower(), parts.group(2).lower(), parts.group(3), parts.group(4) or "/"
    port = int(digits or DEFAULT_PORTS[scheme])
    if port not in DEFAULT_PORTS.values() and not MIN_CUSTOM_PORT <= port <= 65_535:
        raise FileRejected("the address must have port 80, 443, or one from 1024 on")
    return Target(scheme, _normalize_host(host), port, target if target.startswith("/") else f"/{target}")


def parse_ip_address(host: str) -> IpAddress | None:
    """None where the host is not an IP address."""
    try:
        return ipaddress.ip_address(host)
    except ValueError:
        return None


def is_public(address: IpAddress) -> bool:
    """Whether the address is on the public internet. An IPv4 address that is embedded in an IPv6 one decides."""
    if isinstance(address, ipaddress.IPv6Address):
        if (embedded := _embedded_ipv4(address)) is not None:
            return is_public(embedded)
        if address not in ALLOCATED_IPV6 or address.scope_id:
            return False
    return (
        address.is_global and not address.is_multicast and not any(address in network for network in RESERVED_NETWORKS)
    )


def matches_host(host: str, patterns: Iterable[str]) -> bool:
    """Whether the host matches one of the patterns: `example.com`, or `*.example.com` for every host below it."""
    lowered = (pattern.lower() for pattern in patterns)
    return any(host.endswith(pattern[1:]) if pattern.startswith("*.") else host == pattern for pattern in lowered)


async def resolve_host(host: str) -> list[str]:
    """The IP addresses of a host name. Raises OSError where it has none."""
    found = await asyncio.get_running_loop().getaddrinfo(host, None, type=socket.SOCK_STREAM)
    return [str(entry[4][0]) for entry in found]


def _normalize_host(host: str) -> str:
    """The host in its one accepted spelling. A name that ends in a number must be an IPv4 address."""
    if host.startswith("["):
        address = parse_ip_address(host[1:-1])
        if not isinstance(address, ipaddress.IPv6Address):
            raise FileRejected("the host is no IPv6 address")
        return str(address)
    name = host.removesuffix(".")
    if len(name) > 253 or not HOST_NAME_PATTERN.fullmatch(name):
        raise FileRejected("the host is no name: letters, digits and hyphens; others as punycode")
    if NUMERIC_LABEL_PATTERN.fullmatch(name.rpartition(".")[2]) and parse_ip_address(name) is None:
        raise FileRejected("the host is no IPv4 address in its usual form")
    return name


def _embedded_ipv4(address: ipaddress.IPv6Address) -> ipaddress.IPv4Address | None:
    if address in NAT64_NETWORK:
        return ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
    return address.ipv4_mapped
