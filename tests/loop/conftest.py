"""A loop to play with, and its surroundings."""

from pathlib import Path

import pytest

from loop.loop_harness import Desk, Player, Workshop


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


@pytest.fixture
def shop() -> Workshop:
    return Workshop()


@pytest.fixture
def player(desk: Desk, shop: Workshop) -> Player:
    return Player(desk, shop)
