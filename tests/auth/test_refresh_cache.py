"""The cache for values that are read from outside: age, refresh for unknown entries, failures."""

import asyncio

import pytest

from agentfn import ConfigurationError
from agentfn.auth.refresh_cache import MAX_AGE_SECONDS, MIN_REFRESH_SECONDS, RefreshCache


class Source:
    """A value that can be changed or made unreadable, and a clock that can be set."""

    def __init__(self) -> None:
        self.value = "a"
        self.is_down = False
        self.reads = 0
        self.now = 5000.0
        self.cache = RefreshCache(self.read, "the test's values", lambda: self.now)

    def read(self) -> str:
        self.reads += 1
        if self.is_down:
            raise ConfigurationError("down")
        return self.value

    def get(self) -> str:
        return asyncio.run(self.cache.get())

    def find(self, wanted: str) -> str | None:
        return asyncio.run(self.cache.find(lambda value: value if value == wanted else None))


def test_a_value_is_read_again_when_it_is_too_old() -> None:
    source = Source()
    assert [source.get(), source.get()] == ["a", "a"]
    source.value = "b"
    source.now += MAX_AGE_SECONDS - 1
    assert (source.get(), source.reads) == ("a", 1)
    source.now += 1
    assert (source.get(), source.reads) == ("b", 2)


def test_a_lookup_that_finds_nothing_reads_again_at_most_every_half_minute() -> None:
    source = Source()
    assert source.find("b") is None
    assert source.reads == 1
    source.value = "b"
    source.now += MIN_REFRESH_SECONDS
    assert (source.find("b"), source.reads) == ("b", 2)
    assert (source.find("a"), source.reads) == (None, 2)


def test_a_failure_keeps_the_cached_value_and_is_raised_without_one(caplog: pytest.LogCaptureFixture) -> None:
    source = Source()
    source.is_down = True
    for _ in range(2):
        with pytest.raises(ConfigurationError, match="down"):
            source.get()
    source.is_down = False
    assert source.get() == "a"
    source.is_down = True
    source.now += MAX_AGE_SECONDS
    assert source.get() == "a"
    assert "could not refresh the test's values" in caplog.text
    reads = source.reads
    assert (source.get(), source.reads) == ("a", reads)


def test_a_value_can_be_loaded_before_it_is_needed() -> None:
    source = Source()
    assert source.cache.load() == "a"
    assert (source.get(), source.reads) == ("a", 1)
