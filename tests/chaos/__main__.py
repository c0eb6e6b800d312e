"""The command: runs the chaos test once, prints its report, and exits with 1 if an invariant is violated."""

import argparse
import secrets
import shutil
import sys
import tempfile
from pathlib import Path

from chaos.report import ChaosReport
from chaos.run import run_chaos

MAX_SHOWN_TASKS = 10  # tasks whose history is printed


def main() -> int:
    parser = argparse.ArgumentParser(prog="chaos", description=__doc__)
    parser.add_argument("--tasks", type=int, default=1000, help="at least so many")
    parser.add_argument("--faults", type=int, default=1000, help="at least so many")
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="where the diary and the log are to stay")
    given = parser.parse_args()
    seed = secrets.randbelow(10**6) if given.seed is None else given.seed
    print_line(f"seed: {seed}")
    with tempfile.TemporaryDirectory(prefix="chaos-") as folder:
        report = run_chaos(given.tasks, given.faults, seed, folder=Path(folder), tell=print_line)
        if given.keep:
            shutil.copytree(folder, given.keep, dirs_exist_ok=True)
    print_report(report)
    return 1 if report.violations else 0


def print_report(report: ChaosReport) -> None:
    for task_id, complaints in list(report.violations.items())[:MAX_SHOWN_TASKS]:
        print_line(f"\n{task_id}")
        for line in report.histories[task_id]:
            print_line(f"    {line}")
        for text in complaints:
            print_line(f"  {text}")
    for name, count in sorted(report.faults.items()):
        print_line(f"{count:>6} {name}")
    ends = ", ".join(f"{count} {state.lower()}" for state, count in report.states.most_common())
    print_line(f"{report.processes} processes, {report.skewed} of them with a wrong clock; tasks ended: {ends}")
    print_line(f"seed: {report.seed}, {report.seconds:.0f} s")
    if report.violations:
        print_line(f"complaints: {sum(map(len, report.violations.values()))} about {len(report.violations)} tasks")
    print_line(str(report))


def print_line(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
