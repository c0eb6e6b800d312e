"""What no deployment can permit."""

from pathlib import Path

import pytest

from infra.templates import ROOT

TEMPLATES = sorted([*ROOT.glob("*.yaml"), *ROOT.glob("*.toml"), *(ROOT / "infra").glob("*.yaml")])


@pytest.mark.parametrize("path", TEMPLATES, ids=lambda path: path.name)
def test_no_template_can_permit_loopback(path: Path) -> None:
    assert "LOOPBACK" not in path.read_text().upper()
