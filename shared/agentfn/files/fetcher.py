"""The one place for requests to addresses that a caller or a model chose.

A name is resolved once; each of its addresses is checked, and one that was checked is connected to, under the name that
was asked for. Each hop of a redirect goes through the same.
"""

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import urljoin

from agentfn.errors import FileRefused
from agentfn.files.addresses import Place, Resolver, allowed, literal, public, read_url, resolve

if TYPE_CHECKING:
    from httpcore import AsyncConnectionPool, Response

MOST_HOPS = 3
REDIRECTS = frozenset({301, 302, 303, 307, 308})
ANSWER = 65_536  # bytes of a webhook's answer that are read


@dataclass(frozen=True)
class Fetched:
    """`url` is where it was found in the end; `disposition` is the header of that name, which may hold a file name."""

    content: bytes
    media_type: str
    disposition: str
    url: str


@dataclass(frozen=True)
class Fetcher:
    """`seconds` are for one request, redirects included. With `hosts`, nothing else is reached. `loopback` allows this
    machine's own addresses: for tests.
    """

    seconds: float = 20.0
    hosts: tuple[str, ...] = ()
    loopback: bool = False
    resolver: Resolver = resolve

    async def check(self, url: str) -> None:
        """Raises FileRefused for an address that nothing would be sent to now."""
        await self._reachable(read_url(url).host)

    async def fetch(self, url: str, limit: int) -> Fetched:
        """The content, at most `limit` bytes. Raises FileRefused."""
        async with self._in_time(url):
            place = read_url(url)
            for _ in range(MOST_HOPS + 1):
                async with self._sent(place, "GET", {}) as response:
                    if response.status not in REDIRECTS:
                        return await _read(response, url, limit)
                    target = urljoin(url, _header(response, "location"))
                following = read_url(target)
                if place.scheme == "https" and following.scheme == "http":
                    raise FileRefused("it leads from https to http")
                url, place = target, following
            raise FileRefused(f"it leads on more than {MOST_HOPS} times")

    async def post(self, url: str, body: bytes, headers: dict[str, str]) -> int:
        """The status of the answer; redirects are not followed. Raises FileRefused where there is none."""
        async with self._in_time(url), self._sent(read_url(url), "POST", headers, body) as response:
            read = 0
            async for part in response.aiter_stream():
                read += len(part)
                if read > ANSWER:
                    break
            return response.status

    @contextlib.asynccontextmanager
    async def _in_time(self, url: str) -> AsyncGenerator[None]:
        import httpcore

        try:
            async with asyncio.timeout(self.seconds):
                yield
        except TimeoutError:
            raise FileRefused(f"it did not answer within {self.seconds:g} s") from None
        except (httpcore.NetworkError, httpcore.ProtocolError, httpcore.TimeoutException, OSError) as error:
            raise FileRefused(f"it cannot be reached ({type(error).__name__})") from error

    @contextlib.asynccontextmanager
    async def _sent(
        self, place: Place, method: str, headers: dict[str, str], body: bytes = b""
    ) -> "AsyncGenerator[Response]":
        import httpcore

        url = httpcore.URL(scheme=place.scheme, host=place.host, port=place.port, target=place.target)
        sent = {"Accept": "*/*", "Accept-Encoding": "identity", "User-Agent": "agentfn", **headers}
        async with self._pool() as pool, pool.stream(method, url, headers=list(sent.items()), content=body) as response:
            yield response

    def _pool(self) -> "AsyncConnectionPool":
        """A connection of its own for each request: nothing is shared between callers."""
        import httpcore

        fetcher = self

        class Checked(httpcore.AnyIOBackend):
            async def connect_tcp(self, host: str, port: int, *given: Any, **options: Any) -> Any:
                return await super().connect_tcp(await fetcher._reachable(host), port, *given, **options)

        return httpcore.AsyncConnectionPool(network_backend=Checked(), http2=False, retries=0)

    async def _reachable(self, host: str) -> str:
        """The address to connect to. Raises FileRefused where one of the host's is not public."""
        if self.hosts and not allowed(host, self.hosts):
            raise FileRefused(f"{host} is not among the hosts in AGENTFN_FETCH_HOSTS")
        try:
            found = [host] if literal(host) else await self.resolver(host)
        except OSError:
            raise FileRefused(f"there is no host {host}") from None
        if not found or not all(map(self._fine, found)):
            raise FileRefused(f"{host} is not a public address")
        return found[0]

    def _fine(self, text: str) -> bool:
        address = literal(text)
        return address is not None and (public(address) or (self.loopback and address.is_loopback))


async def _read(response: "Response", url: str, limit: int) -> Fetched:
    if response.status != 200:
        raise FileRefused(f"it answered with status {response.status}")
    if _header(response, "content-encoding").lower() not in ("", "identity"):
        raise FileRefused("it is compressed, which it was not asked to be")
    content = b""
    async for part in response.aiter_stream():
        content += part
        if len(content) > limit:
            raise FileRefused(f"it has more than {limit:,} bytes")
    media_type = _header(response, "content-type").partition(";")[0].strip()
    return Fetched(content, media_type, _header(response, "content-disposition"), url)


def _header(response: "Response", name: str) -> str:
    found: Iterable[bytes] = (value for key, value in response.headers if key.lower() == name.encode())
    return next((value.decode("latin-1") for value in found), "")
