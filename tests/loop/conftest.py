"""Fixtures: a loop with a workspace and tools."""

from pathlib import Path

import pytest

from loop.loop_harness import LoopHarness, MemoryWorkspace, TracingTools


@pytest.fixture
def desk(tmp_path: Path) -> MemoryWorkspace:
    return MemoryWorkspace(tmp_path)


@pytest.fixture
def shop() -> TracingTools:
    return TracingTools()


@pytest.fixture
def player(desk: MemoryWorkspace, shop: TracingTools, no_waiting: None) -> LoopHarness:
    return LoopHarness(desk, shop)
