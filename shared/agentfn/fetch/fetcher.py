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

from agentfn.errors import FileRefused
from agentfn.fetch.address_policy import Address, Place, Resolver, allowed, literal, public, read_url, resolve
from agentfn.fetch.fetch_response import Fetched, header, read_answer
from agentfn.settings import Settings

if TYPE_CHECKING:
    from httpcore import AsyncConnectionPool, Response

MOST_HOPS = 3
MOST_ADDRESSES = 4  # of one host that are tried
CONNECT_SECONDS = 5.0  # for each of them
REDIRECTS = frozenset({301, 302, 303, 307, 308})
IN_LAMBDA = "AWS_LAMBDA_RUNTIME_API"


@functools.cache
def trusted() -> ssl.SSLContext:
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

    seconds: float = 20.0
    hosts: tuple[str, ...] = ()
    loopback: bool = False
    resolver: Resolver = resolve
    tls: Callable[[], ssl.SSLContext] = trusted

    @classmethod
    def of(cls, settings: Settings) -> Self:
        hosts = tuple(name.strip() for name in settings.fetch_hosts.split(",") if name.strip())
        return cls(settings.fetch_seconds, hosts, settings.fetch_loopback)

    async def check(self, url: str) -> None:
        """Raises FileRefused for an address that nothing would be sent to now."""
        async with self._in_time():
            await self._addresses(read_url(url).host)

    async def fetch(self, url: str, limit: int) -> Fetched:
        """The content, at most `limit` bytes. Nothing of ours goes along. Raises FileRefused."""
        async with self._in_time():
            place = read_url(url)
            for _ in range(MOST_HOPS + 1):
                async with self._sent(place, "GET", {}) as response:
                    if response.status not in REDIRECTS:
                        return await read_answer(response, url, limit)
                    url = _next(url, header(response, "location"))
                secure, place = place.scheme == "https", read_url(url)
                if secure and place.scheme == "http":
                    raise FileRefused("the address leads from https to http")
            raise FileRefused(f"the address leads on more than {MOST_HOPS} times")

    async def post(self, url: str, body: bytes, headers: Mapping[str, str]) -> int:
        """The status of the answer, whose body is not read; redirects are not followed.

        Raises FileRefused where there is none.
        """
        async with self._in_time(), self._sent(read_url(url), "POST", headers, body) as response:
            return response.status

    def permits(self, address: Address) -> bool:
        """In Lambda this machine's addresses are never permitted: the runtime's own API is among them."""
        here = self.loopback and IN_LAMBDA not in os.environ
        return public(address) or (here and address.is_loopback)

    @contextlib.asynccontextmanager
    async def _in_time(self) -> AsyncGenerator[None]:
        import httpcore

        try:
            async with asyncio.timeout(self.seconds):
                yield
        except TimeoutError:
            raise FileRefused(f"the address did not answer within {self.seconds:g} s") from None
        except (httpcore.NetworkError, httpcore.ProtocolError, httpcore.TimeoutException, OSError) as error:
            raise FileRefused(f"the address cannot be reached ({type(error).__name__})") from error

    @contextlib.asynccontextmanager
    async def _sent(
        self, place: Place, method: str, headers: Mapping[str, str], body: bytes | None = None
    ) -> "AsyncGenerator[Response]":
        import httpcore

        url = httpcore.URL(scheme=place.scheme, host=place.host, port=place.port, target=place.target)
        ours = {"Accept": "*/*", "Accept-Encoding": "identity", "User-Agent": "agentfn", "Connection": "close"}
        sent = [*{**ours, **headers, "Host": place.authority}.items()]
        async with self._pool(place) as pool, pool.stream(method, url, headers=sent, content=body) as response:
            yield response

    def _pool(self, place: Place) -> "AsyncConnectionPool":
        """A connection of its own for each request: nothing is shared between callers."""
        import httpcore

        fetcher = self

        class Checked(httpcore.AnyIOBackend):
            async def connect_tcp(self, host: str, port: int, *given: Any, **options: Any) -> Any:
                failed: httpcore.ConnectError | httpcore.ConnectTimeout | None = None
                for address in (await fetcher._addresses(host))[:MOST_ADDRESSES]:
                    try:
                        return await super().connect_tcp(address, port, timeout=CONNECT_SECONDS)
                    except (httpcore.ConnectError, httpcore.ConnectTimeout) as error:
                        failed = error
                raise failed or httpcore.ConnectError

        tls = self.tls() if place.scheme == "https" else None
        return httpcore.AsyncConnectionPool(tls, network_backend=Checked(), http2=False, retries=0)

    async def _addresses(self, host: str) -> list[str]:
        """Where to connect to. Raises FileRefused where one of the host's addresses is not public."""
        if self.hosts and not allowed(host, self.hosts):
            raise FileRefused(f"{host} is not among the hosts in AGENTFN_FETCH_HOSTS")
        try:
            found = [literal(text) for text in ([host] if literal(host) else await self.resolver(host))]
        except (OSError, UnicodeError):
            found = []
        addresses = [str(address) for address in found if address is not None and self.permits(address)]
        if not addresses or len(addresses) < len(found):
            raise FileRefused(f"the host {host} is unknown, or its address is not public")
        return list(dict.fromkeys(addresses))


def _next(url: str, location: str) -> str:
    if not location:
        raise FileRefused("the address leads on without saying where to")
    try:
        return urljoin(url, location)
    except ValueError:
        raise FileRefused("the address leads on to none") from None
