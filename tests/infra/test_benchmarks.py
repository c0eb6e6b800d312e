"""The comparison with other frameworks can be made again by anyone: same drivers, same versions."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PEERS = ROOT / "benchmarks" / "peers"
COLD = ROOT / "benchmarks" / "cold_peers"
DEPLOYED = ROOT / "functions" / "analyst" / "requirements.txt"
PINS = sorted(PEERS.glob("*.txt"))


@pytest.mark.parametrize(
    "pins", [*PINS, *sorted(COLD.glob("*.txt"))], ids=lambda pins: f"{pins.parent.name}-{pins.stem}"
)
def test_a_peer_is_installed_in_the_very_version_that_was_measured(pins: Path) -> None:
    lines = pins.read_text().splitlines()
    assert [line for line in lines if not re.fullmatch(r"[\w.-]+==[\w.]+", line)] == []


def test_every_peer_has_a_driver_and_every_driver_but_ours_has_its_versions() -> None:
    drivers = {path.stem for path in PEERS.glob("*.py") if "def agent(" in path.read_text()}
    assert drivers == {"agentfn", *(pins.stem for pins in PINS)}


def test_who_takes_part_in_the_cold_starts_has_a_driver_and_its_versions() -> None:
    text = COLD.with_name("cold_contenders.py").read_text()
    contenders = [call for call in ast.walk(ast.parse(text)) if isinstance(call, ast.Call) and named(call, "Contender")]
    drivers = {ast.literal_eval(call.args[1]) for call in contenders}
    places = {ast.literal_eval(call.args[2]) for call in contenders}
    assert drivers == {path.stem for path in COLD.glob("*.py")} - {"clock", "old_task"}
    assert places == {"agentfn", *(pins.stem for pins in COLD.glob("*.txt"))}  # ours: what the analyst deploys


def test_our_direct_door_is_measured_with_the_versions_that_are_deployed() -> None:
    deployed = set(re.findall(r"^([\w.-]+==[\w.]+)", DEPLOYED.read_text(), re.MULTILINE))
    assert set(COLD.joinpath("agentfn_direct.txt").read_text().split()) - deployed == set()


def named(call: ast.Call, name: str) -> bool:
    return isinstance(call.func, ast.Name) and call.func.id == name
