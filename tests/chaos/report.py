"""The report of a run."""

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from chaos.event_log import read_agent_log, read_event_log
from chaos.invariants import check_effects, check_messages, check_scenario, check_task
from chaos.scenarios import Scenario
from chaos.stored_tasks import StoredTask


@dataclass
class ChaosReport:
    """`violations` by task, and the `histories` of those tasks from the event log and the agent's log.

    `skewed` of the `processes` had a wrong clock, which does not count as a fault.
    """

    seed: int
    tasks: int
    faults: Counter[str]
    processes: int
    skewed: int
    seconds: float = 0.0
    states: Counter[str] = field(default_factory=Counter)
    violations: dict[str, list[str]] = field(default_factory=dict)
    histories: dict[str, list[str]] = field(default_factory=dict)

    def count_violations(self, kind: str) -> int:
        return sum(text.startswith(kind) for texts in self.violations.values() for text in texts)

    def __str__(self) -> str:
        return (
            f"faults: {self.faults.total()}, tasks: {self.tasks}, "
            f"lost: {self.count_violations('lost')}, doubled: {self.count_violations('doubled')}"
        )

    def check(self, scenarios: Iterable[Scenario], stored: Mapping[str, StoredTask], folder: Path) -> None:
        """Checks the invariants on the table, the event log and the callers' responses."""
        event_log = read_event_log(folder)
        self.states.update(task.state for task in stored.values())
        found = [*check_effects(stored, event_log), *check_messages(stored)]
        found += [(task.id, text) for task in stored.values() for text in check_task(task)]
        for scenario in scenarios:
            found += [
                (scenario.task_id or f"scenario {scenario.number}", text) for text in check_scenario(scenario, stored)
            ]
        for task_id, text in found:
            self.violations.setdefault(task_id, []).append(text)
        told = [json.dumps(line) for line in event_log] + read_agent_log(folder)
        for task_id in self.violations:
            self.histories[task_id] = [line for line in told if task_id in line]
