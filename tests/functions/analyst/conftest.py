"""The analyst's folder on the path, as on Lambda, where it is the task root."""

import sys
from pathlib import Path

import pytest

from functions.analyst.tool_harness import AGENT, Desk

sys.path.insert(0, str(AGENT))


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    """An empty desk."""
    return Desk(tmp_path)


@pytest.fixture
def penguin_desk(desk: Desk) -> Desk:
    """A desk with the sample data on it."""
    desk.put("penguins.csv", (AGENT / "data" / "penguins.csv").read_bytes())
    return desk
