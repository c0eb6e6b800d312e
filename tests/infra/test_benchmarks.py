"""The comparison with other frameworks can be made again by anyone: same drivers, same versions."""

import re
from pathlib import Path

import pytest

PEERS = Path(__file__).resolve().parents[2] / "benchmarks" / "peers"
PINS = sorted(PEERS.glob("*.txt"))


@pytest.mark.parametrize("pins", PINS, ids=lambda pins: pins.stem)
def test_a_peer_is_installed_in_the_very_version_that_was_measured(pins: Path) -> None:
    lines = pins.read_text().splitlines()
    assert [line for line in lines if not re.fullmatch(r"[\w.-]+==[\w.]+", line)] == []


def test_every_peer_has_a_driver_and_every_driver_but_ours_has_its_versions() -> None:
    drivers = {path.stem for path in PEERS.glob("*.py") if "def agent(" in path.read_text()}
    assert drivers == {"agentfn", *(pins.stem for pins in PINS)}
