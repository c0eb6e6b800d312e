"""The analyst's folder on the path, as on Lambda, where it is the task root."""

import sys
from pathlib import Path

import pytest

from functions.analyst.tool_harness import AGENT, ToolHarness

sys.path.insert(0, str(AGENT))


@pytest.fixture
def desk(tmp_path: Path) -> ToolHarness:
    """An empty desk."""
    return ToolHarness(tmp_path)


@pytest.fixture
def penguin_desk(desk: ToolHarness) -> ToolHarness:
    """A desk with the sample data on it."""
    desk.attach("penguins.csv", (AGENT / "data" / "penguins.csv").read_bytes())
    return desk
