"""The one place for requests to addresses that a caller or a model chose.

A name is resolved once for each request; all of its addresses are checked, and one that was checked is connected to,
under the name that was asked for. Each hop of a redirect goes through the same.
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
    Address,
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
MAX_ADDRESSES_TRIED = 4  # of one host that are tried
CONNECT_TIMEOUT_SECONDS = 5.0  # for each of them
REDIRECT_STATUSES = frozenset({301, 302, 303, 307, 308})
LAMBDA_VARIABLE = "AWS_LAMBDA_RUNTIME_API"


@functools.cache
def default_tls_context() -> ssl.SSLContext:
    """The usual authorities. Made once: it takes a tenth of a second."""
    import certifi

    context = ssl.create_default_context()
    context.load_verify_locations(certifi.where())
    return context


@dataclass(frozen=True)
class Fetcher:
    """`seconds` are for one call, redirects included. With `hosts`, nothing else is reached. `loopback` allows this
    machine's own addresses: for tests.
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
        """Raises FileRefused for an address that nothing would be sent to now."""
        async with self._map_errors():
            await self._resolve_permitted(parse_url(url).host)

    async def fetch(self, url: str, max_bytes: int) -> FetchedFile:
        """The content, at most `limit` bytes. Nothing of ours goes along. Raises FileRefused."""
        async with self._map_errors():
            place = parse_url(url)
            for _ in range(MAX_REDIRECTS + 1):
                async with self._request(place, "GET", {}) as response:
                    if response.status not in REDIRECT_STATUSES:
                        return await read_response(response, url, max_bytes)
                    url = _redirect_url(url, get_header(response, "location"))
                secure, place = place.scheme == "https", parse_url(url)
                if secure and place.scheme == "http":
                    raise FileRejected("the address leads from https to http")
            raise FileRejected(f"the address leads on more than {MAX_REDIRECTS} times")

    async def post(self, url: str, body: bytes, headers: Mapping[str, str]) -> int:
        """The status of the answer, whose body is not read; redirects are not followed.

        Raises FileRefused where there is none.
        """
        async with self._map_errors(), self._request(parse_url(url), "POST", headers, body) as response:
            return response.status

    def is_permitted(self, address: Address) -> bool:
        """In Lambda this machine's addresses are never permitted: the runtime's own API is among them."""
        here = self.allow_loopback and LAMBDA_VARIABLE not in os.environ
        return is_public(address) or (here and address.is_loopback)

    @contextlib.asynccontextmanager
    async def _map_errors(self) -> AsyncGenerator[None]:
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
        ours = {"Accept": "*/*", "Accept-Encoding": "identity", "User-Agent": "agentfn", "Connection": "close"}
        sent = [*{**ours, **headers, "Host": target.authority}.items()]
        async with (
            self._connection_pool(target) as pool,
            pool.stream(method, url, headers=sent, content=body) as response,
        ):
            yield response

    def _connection_pool(self, target: Target) -> "AsyncConnectionPool":
        """A connection of its own for each request: nothing is shared between callers."""
        import httpcore

        fetcher = self

        class Checked(httpcore.AnyIOBackend):
            async def connect_tcp(self, host: str, port: int, *given: Any, **options: Any) -> Any:
                failed: httpcore.ConnectError | httpcore.ConnectTimeout | None = None
                for address in (await fetcher._resolve_permitted(host))[:MAX_ADDRESSES_TRIED]:
                    try:
                        return await super().connect_tcp(address, port, timeout=CONNECT_TIMEOUT_SECONDS)
                    except (httpcore.ConnectError, httpcore.ConnectTimeout) as error:
                        failed = error
                raise failed or httpcore.ConnectError

        tls = self.tls_context() if target.scheme == "https" else None
        return httpcore.AsyncConnectionPool(tls, network_backend=Checked(), http2=False, retries=0)

    async def _resolve_permitted(self, host: str) -> list[str]:
        """Where to connect to. Raises FileRefused where one of the host's addresses is not public."""
        if self.hosts and not matches_host(host, self.hosts):
            raise FileRejected(f"{host} is not among the hosts in AGENTFN_FETCH_HOSTS")
        try:
            found = [
                parse_ip_address(text) for text in ([host] if parse_ip_address(host) else await self.resolver(host))
            ]
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
