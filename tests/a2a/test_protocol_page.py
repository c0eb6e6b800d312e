"""The page on the protocol: each method in each dialect and binding, and the tests that it names."""

import re
from pathlib import Path

import pytest

from support.protocol_clients import REST_PATHS, RPC_METHODS

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "protocol.md").read_text()
NAMED = sorted(set(re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", PAGE)))


@pytest.mark.parametrize(("path", "name"), NAMED)
def test_a_test_that_the_page_names_is_there(path: str, name: str) -> None:
    assert re.search(rf"^def {name}\(", (ROOT / path).read_text(), re.MULTILINE)


def test_every_method_has_a_row_that_names_its_test() -> None:
    rows = [line for line in PAGE.splitlines() if line.startswith("| ")]
    for what, (new, old) in RPC_METHODS.items():
        [row] = [row for row in rows if f"`{new}`" in row]
        assert "::" in row
        assert f"`{old}`" in row or what == "list"
        path = REST_PATHS[what].split(" ")[1]
        assert path in row
        assert f"/v1{path}" in row or what in ("list", "card")
