"""The command: plays one run, prints what came of it, and fails if anything was harmed."""

import argparse
import secrets
import shutil
import sys
import tempfile
from pathlib import Path

from chaos.report import Outcome
from chaos.run import play

MOST_SHOWN = 10  # tasks whose history is printed


def main() -> int:
    parser = argparse.ArgumentParser(prog="chaos", description=__doc__)
    parser.add_argument("--tasks", type=int, default=1000, help="at least so many")
    parser.add_argument("--faults", type=int, default=1000, help="at least so many")
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="where the diary and the log are to stay")
    given = parser.parse_args()
    seed = secrets.randbelow(10**6) if given.seed is None else given.seed
    say(f"seed: {seed}")
    with tempfile.TemporaryDirectory(prefix="chaos-") as folder:
        outcome = play(given.tasks, given.faults, seed, folder=Path(folder), tell=say)
        if given.keep:
            shutil.copytree(folder, given.keep, dirs_exist_ok=True)
    report(outcome)
    return 1 if outcome.complaints else 0


def report(outcome: Outcome) -> None:
    for task_id, complaints in list(outcome.complaints.items())[:MOST_SHOWN]:
        say(f"\n{task_id}")
        for line in outcome.histories[task_id]:
            say(f"    {line}")
        for text in complaints:
            say(f"  {text}")
    for name, count in sorted(outcome.faults.items()):
        say(f"{count:>6} {name}")
    ends = ", ".join(f"{count} {state.lower()}" for state, count in outcome.states.most_common())
    say(f"{outcome.processes} processes, {outcome.skewed} of them with a wrong clock; tasks ended: {ends}")
    say(f"seed: {outcome.seed}, {outcome.seconds:.0f} s")
    if outcome.complaints:
        say(f"complaints: {sum(map(len, outcome.complaints.values()))} about {len(outcome.complaints)} tasks")
    say(str(outcome))


def say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
