"""The HTTP client for URLs that a caller or a model chose. It protects against server-side request forgery.

For each request, and for each redirect, the host name is resolved once, all of its addresses are checked, and the
connection is made to a checked address, under the host name of the URL.
"""

import asyncio
import contextlib
import functools
import os
import ssl
from collections.abc import AsyncGenerator, Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self
from urllib.parse import urljoin

from agentfn.errors import FileRejected
from agentfn.fetch.address_policy import (
    IpAddress,
    Resolver,
    Target,
    is_public,
    matches_host,
    parse_ip_address,
    parse_url,
    resolve_host,
)
from agentfn.fetch.fetch_response import FetchedFile, get_header, read_response
from agentfn.settings import Settings
from agentfn.settings_groups import FetchSettings, default_of, split_list

if TYPE_CHECKING:
    from httpcore import AsyncConnectionPool, Response

MAX_REDIRECTS = 3
MAX_ADDRESSES_TRIED = 4  # of one host
CONNECT_TIMEOUT_SECONDS = 5.0  # for each address
REDIRECT_STATUSES = frozenset({301, 302, 303, 307, 308})
LAMBDA_VARIABLE = "AWS_LAMBDA_RUNTIME_API"


@functools.cache
def default_tls_context() -> ssl.SSLContext:
    """Trusts the authorities of certifi. Cached, because it takes 0.1 s to make."""
    import certifi

    context = ssl.create_default_context()
    context.load_verify_locations(certifi.where())
    return context


@dataclass(frozen=True)
class Fetcher:
    """Sends guarded requests. Every method raises FileRejected where the URL is not allowed or gets no response.

    `timeout_seconds` is for one call with its redirects. If `hosts` is not empty, only these hosts are allowed, as
    `example.com` or `*.example.com`. `allow_loopback` permits this machine's own addresses, for tests.
    """

    timeout_seconds: float = default_of(FetchSettings, "timeout_seconds")
    hosts: tuple[str, ...] = ()
    allow_loopback: bool = False
    resolver: Resolver = resolve_host
    tls_context: Callable[[], ssl.SSLContext] = default_tls_context

    @classmethod
    def from_settings(cls, settings: Settings) -> Self:
        fetch = settings.fetch
        return cls(fetch.timeout_seconds, tuple(split_list(fetch.hosts)), fetch.loopback)

    async def check(self, url: str) -> None:
        """Checks that a request to this URL would be sent, without sending one."""
        async with self._map_errors():
            await self._resolve_permitted(parse_url(url).host)

    async def fetch(self, url: str, max_bytes: int) -> FetchedFile:
        """Sends a GET request without credentials. Raises FileRejected for a file of more than `max_bytes` bytes."""
        async with self._map_errors():
            target = parse_url(url)
            for _ in range(MAX_REDIRECTS + 1):
                async with self._request(target, "GET", {}) as response:
                    if response.status not in REDIRECT_STATUSES:
                        return await read_response(response, url, max_bytes)
                    url = _redirect_url(url, get_header(response, "location"))
                was_https, target = target.scheme == "https", parse_url(url)
                if was_https and target.scheme == "http":
                    raise FileRejected("the address leads from https to http")
            raise FileRejected(f"the address leads on more than {MAX_REDIRECTS} times")

    async def post(self, url: str, body: bytes, headers: Mapping[str, str]) -> int:
        """Sends a POST request, and returns the response's status. Reads no body and follows no redirect."""
        async with self._map_errors(), self._request(parse_url(url), "POST", headers, body) as response:
            return response.status

    def is_permitted(self, address: IpAddress) -> bool:
        """Whether this address may be connected to. In Lambda, loopback may not: it serves the runtime's API."""
        allows_loopback = self.allow_loopback and LAMBDA_VARIABLE not in os.environ
        return is_public(address) or (allows_loopback and address.is_loopback)

    @contextlib.asynccontextmanager
    async def _map_errors(self) -> AsyncGenerator[None]:
        """Applies the timeout, and raises FileRejected for it and for the errors of the connection."""
        import httpcore

        try:
            async with asyncio.timeout(self.timeout_seconds):
                yield
        except TimeoutError:
            raise FileRejected(f"the address did not answer within {self.timeout_seconds:g} s") from None
        except (httpcore.NetworkError, httpcore.ProtocolError, httpcore.TimeoutException, OSError) as error:
            raise FileRejected(f"the address cannot be reached ({type(error).__name__})") from error

    @contextlib.asynccontextmanager
    async def _request(
        self, target: Target, method: str, headers: Mapping[str, str], body: bytes | None = None
    ) -> "AsyncGenerator[Response]":
        import httpcore

        url = httpcore.URL(scheme=target.scheme, host=target.host, port=target.port, target=target.request_target)
        defaults = {"Accept": "*/*", "Accept-Encoding": "identity", "User-Agent": "agentfn", "Connection": "close"}
        all_headers = [*{**defaults, **headers, "Host": target.authority}.items()]
        async with (
            self._connection_pool(target) as pool,
            pool.stream(method, url, headers=all_headers, content=body) as response,
        ):
            yield response

    def _connection_pool(self, target: Target) -> "AsyncConnectionPool":
        """A new pool for each request, so that callers share no connection. It connects to checked addresses only."""
        import httpcore

        fetcher = self

        class CheckedBackend(httpcore.AnyIOBackend):
            async def connect_tcp(self, host: str, port: int, *args: Any, **options: Any) -> Any:
                last_error: httpcore.ConnectError | httpcore.ConnectTimeout | None = None
                for address in (await fetcher._resolve_permitted(host))[:MAX_ADDRESSES_TRIED]:
                    try:
                        return await super().connect_tcp(address, port, timeout=CONNECT_TIMEOUT_SECONDS)
                    except (httpcore.ConnectError, httpcore.ConnectTimeout) as error:
                        last_error = error
                raise last_error or httpcore.ConnectError

        tls = self.tls_context() if target.scheme == "https" else None
        return httpcore.AsyncConnectionPool(tls, network_backend=CheckedBackend(), http2=False, retries=0)

    async def _resolve_permitted(self, host: str) -> list[str]:
        """The addresses to connect to. Raises FileRejected where one of the host's addresses is not permitted."""
        if self.hosts and not matches_host(host, self.hosts):
            raise FileRejected(f"{host} is not among the hosts in AGENTFN_FETCH_HOSTS")
        try:
            texts = [host] if parse_ip_address(host) else await self.resolver(host)
            found = [parse_ip_address(text) for text in texts]
        except (OSError, UnicodeError):
            found = []
        addresses = [str(address) for address in found if address is not None and self.is_permitted(address)]
        if not addresses or len(addresses) < len(found):
            raise FileRejected(f"the host {host} is unknown, or its address is not public")
        return list(dict.fromkeys(addresses))


def _redirect_url(url: str, location: str) -> str:
    if not location:
        raise FileRejected("the address leads on without saying where to")
    try:
        return urljoin(url, location)
    except ValueError:
        raise FileRejected("the address leads on to none") from None
