"""What is run against the test agent, and how to read what it printed."""

import json
import os
import re
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
TESTBED, OLD = (ROOT / name / "bin" for name in (".venv-testbed", ".venv-old-client"))
LIMIT = 280  # seconds for each
CLOSING = re.compile(r"^(\d+) passed, (\d+) failed, (\d+) skipped$", re.MULTILINE)

SOFT = {
    # Of 0.3 the sweep wants 1.0's code for a card that is not there, -32004; 0.3 has one of its own, -32007 (8.2).
    ("warn", "extended_card_capability_consistency"),
}


@dataclass(frozen=True)
class Report:
    """`skips` are the names of what was skipped, where a suite tells them apart by name."""

    passed: int
    failed: int
    skipped: int
    skips: frozenset[str]
    text: str


@dataclass(frozen=True)
class Suite:
    """`command` is followed by the agent's address, then by `options`."""

    command: tuple[str, ...]
    options: tuple[str, ...] = ()
    read: Callable[[str], Report] = lambda text: client_report(text)

    def run(self, url: str) -> Report:
        environment = {**os.environ, "PYTHONPATH": str(ROOT / "tests")}
        finished = subprocess.run(
            [*self.command, url, *self.options],
            env=environment,
            cwd=ROOT,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=LIMIT,
            check=False,
        )
        return self.read(finished.stdout)


def client_report(text: str) -> Report:
    closing = CLOSING.search(text)
    assert closing, text
    passed, failed, skipped = map(int, closing.groups())
    skips = frozenset(line[5:].partition(":")[0] for line in text.splitlines() if line.startswith("skip "))
    return Report(passed, failed, skipped, skips, text)


def sweep_report(text: str) -> Report:
    """A warning counts as a failure, but for those in SOFT, and so does a contract that the agent did not answer."""
    rows = json.loads(text[text.index("{") :])["results"]
    by_status: dict[str, set[str]] = {"pass": set(), "skip": set(), "bad": set()}
    for row in rows:
        name = row["id"].removeprefix("transport.")
        status = "pass" if (row["status"], name) in SOFT else row["status"]
        by_status[status if status in by_status else "bad"].add(name)
    passed, bad, skips = by_status["pass"], by_status["bad"], by_status["skip"]
    text = "\n".join(f"{row['status']} {row['id']} {row['detail']}" for row in rows)
    return Report(len(passed), len(bad), len(skips), frozenset(skips), text)


def lint_report(text: str) -> Report:
    """It has a grade and no counts: an error or a warning is a failure."""
    grade = re.search(r"GRADE (\w) . (\d+) error\(s\), (\d+) warning\(s\)", text)
    assert grade, text
    return Report(int(grade[1] == "A"), int(grade[2]) + int(grade[3]), 0, frozenset(), text)


def client(name: str, *options: str) -> Suite:
    commands = {
        "js": ("node", str(HERE / "clients" / "js" / "client.mjs")),
        "v1_0": (str(TESTBED / "python"), "-m", "conformance.clients.v1_0"),
        "v0_3": (str(OLD / "python"), "-m", "conformance.clients.v0_3"),
    }
    return Suite(commands[name], options)


def sweep(version: str) -> Suite:
    return Suite((str(TESTBED / "python"), str(HERE / "testbed.py")), (version,), sweep_report)


def lint() -> Suite:
    return Suite((str(TESTBED / "a2a-lint"),), ("--live",), lint_report)
