"""SnapStart: what the runtime client does around a snapshot."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from agentfn.local.lambda_events import rest_event
from runtime.conftest import Starting

SNAPSHOT = {"AWS_LAMBDA_INITIALIZATION_TYPE": "snap-start"}
ORDER = ["before, registered last", "before, registered first", "after, registered first", "after, registered last"]


def test_hooks_run_in_their_order_around_the_snapshot(start: Starting) -> None:
    made = start("snapped.handler", **SNAPSHOT)
    assert made.service.told.get(timeout=120) == ("snapshot", None)
    answer = made.invoke({})
    assert answer.parts.empty()  # it takes no event before it was restored
    made.service.restored.set()
    assert answer.json() == ORDER


def test_without_a_snapshot_no_hook_is_called(start: Starting) -> None:
    assert start("snapped.handler").invoke({}).json() == []


@pytest.mark.parametrize(
    ("when", "where", "kind", "code"),
    [
        ("before", "init error", "Runtime.BeforeSnapshotError", 64),
        ("after", "restore error", "Runtime.AfterRestoreError", 65),
    ],
)
def test_a_hook_that_fails_is_told(start: Starting, when: str, where: str, kind: str, code: int) -> None:
    made = start("snapped.handler", BREAKS=when, **SNAPSHOT)
    made.service.restored.set()
    told = dict(made.service.told.get(timeout=120) for _ in range(1 if when == "before" else 2))
    headers, error = told[where]
    assert headers["Lambda-Runtime-Function-Error-Type"] == kind
    assert error["errorType"] == "RuntimeError"
    assert made.process.wait(120) == code


def test_an_agent_answers_from_a_snapshot(start: Starting, of_the_agent: Mapping[str, str], tmp_path: Path) -> None:
    made = start("app.handler", GATE=str(tmp_path / "gate"), **of_the_agent, **SNAPSHOT)
    assert made.service.told.get(timeout=120) == ("snapshot", None)
    made.service.restored.set()
    assert made.invoke(rest_event("GET", "/health")).json() == {"status": "ok"}
