"""The one place for requests to addresses that a caller or a model chose."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Fetcher:
    seconds: float = 20.0
    hosts: tuple[str, ...] = ()
    loopback: bool = False

    async def check(self, url: str) -> None:
        raise NotImplementedError

    async def post(self, url: str, body: bytes, headers: dict[str, str]) -> int:
        raise NotImplementedError
