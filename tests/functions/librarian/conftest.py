"""The librarian's folder on the path, as on Lambda, where it is the task root."""

import sys

import pytest

from functions.librarian.questions import packet
from functions.librarian.tool_harness import AGENT, Desk

sys.path.insert(0, str(AGENT))


@pytest.fixture
def desk() -> Desk:
    """An empty desk."""
    return Desk()


@pytest.fixture
def packet_desk(desk: Desk) -> Desk:
    """A desk with the sample packet on it."""
    for name, content in packet().items():
        desk.put(name, content)
    return desk
