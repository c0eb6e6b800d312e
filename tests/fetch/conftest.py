"""A work folder for sources that are paths."""

from pathlib import Path

import pytest


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A work folder with a file outside it."""
    work = tmp_path / "work"
    work.mkdir()
    (work / "inside.txt").write_text("inside")
    (tmp_path / "outside.txt").write_text("outside")
    return work
