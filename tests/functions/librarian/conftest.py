"""Puts the librarian's folder on sys.path, as on Lambda, where it is the task root."""

import sys

import pytest

from functions.librarian.questions import packet
from functions.librarian.tool_harness import AGENT, ToolHarness

sys.path.insert(0, str(AGENT))


@pytest.fixture
def desk() -> ToolHarness:
    """A harness without files."""
    return ToolHarness()


@pytest.fixture
def packet_desk(desk: ToolHarness) -> ToolHarness:
    """A harness with the sample packet."""
    for name, content in packet().items():
        desk.attach(name, content)
    return desk
