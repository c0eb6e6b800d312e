"""A short run of the chaos; `make chaos` is the long one."""

from pathlib import Path

import pytest

from chaos.run import run_chaos

pytestmark = pytest.mark.slow


@pytest.mark.timeout(240)
def test_whatever_dies_or_fails_nothing_is_lost_and_nothing_done_twice(tmp_path: Path) -> None:
    outcome = run_chaos(tasks=24, faults=24, seed=7, folder=tmp_path, skew=2.0)
    assert outcome.violations == {}, f"{outcome}\n{outcome.violations}\n{outcome.histories}"
    assert outcome.tasks >= 24
    assert outcome.faults.total() >= 24
    assert outcome.states["COMPLETED"] >= outcome.tasks / 2
