"""Records the connections of this process with an audit hook."""

import sys
from collections.abc import Iterator
from typing import Any

import pytest

_seen: list[str] = []


def _audit(event: str, arguments: tuple[Any, ...]) -> None:
    if event == "socket.connect" and isinstance(arguments[1], tuple):
        _seen.append(str(arguments[1][0]))


sys.addaudithook(_audit)


@pytest.fixture
def connected() -> Iterator[list[str]]:
    """The addresses to which connections were started during the test."""
    _seen.clear()
    yield _seen
    _seen.clear()
