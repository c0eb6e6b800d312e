"""A short chaos run; `make chaos` runs the long one."""

from pathlib import Path

import pytest

from chaos.run import run_chaos

pytestmark = pytest.mark.slow


@pytest.mark.timeout(240)
def test_whatever_dies_or_fails_nothing_is_lost_and_nothing_done_twice(tmp_path: Path) -> None:
    report = run_chaos(tasks=24, faults=24, seed=7, folder=tmp_path, skew=2.0)
    assert report.violations == {}, f"{report}\n{report.violations}\n{report.histories}"
    assert report.tasks >= 24
    assert report.faults.total() >= 24
    assert report.states["COMPLETED"] >= report.tasks / 2
