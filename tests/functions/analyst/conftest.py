"""Puts the analyst's folder on sys.path, as on Lambda, where it is the task root."""

import sys
from pathlib import Path

import pytest

from functions.analyst.tool_harness import AGENT, ToolHarness

sys.path.insert(0, str(AGENT))


@pytest.fixture
def desk(tmp_path: Path) -> ToolHarness:
    """A harness without files."""
    return ToolHarness(tmp_path)


@pytest.fixture
def penguin_desk(desk: ToolHarness) -> ToolHarness:
    """A harness with the sample data."""
    desk.attach("penguins.csv", (AGENT / "data" / "penguins.csv").read_bytes())
    return desk
