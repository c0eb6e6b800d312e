"""How `cold.py` shows what it measured."""

from collections.abc import Mapping, Sequence
from statistics import median

from cold_contenders import Contender, version

Spent = Mapping[str, float]  # `wall` and `cpu` in seconds, `peak` in MB
Measured = Mapping[tuple[str, str], Sequence[Spent]]

CASES = {
    "made": "Imported, and the application made",
    "card": "The card is answered",
    "get": "A stored task is answered",
    "question": "The first question reaches the model",
}
REFERENCES = {"made": "the floor", "card": "the floor", "get": "the floor", "question": "lughus"}


def print_tables(taking_part: Sequence[Contender], spent: Measured) -> None:
    for case, title in CASES.items():
        rows = [(contender, spent.get((contender.name, case), ())) for contender in taking_part]
        reference = spent.get((REFERENCES[case], case), ())
        print(f"\n{title}\n\n| | CPU, s | to {REFERENCES[case]} | Clock, s | to {REFERENCES[case]} | Peak, MB |")
        print("|---|---|---|---|---|---|")
        for contender, runs in rows:
            print(f"| {contender.name} {version(contender)} | {' | '.join(_cells(runs, reference))} |")


def _cells(runs: Sequence[Spent], reference: Sequence[Spent]) -> list[str]:
    if not runs:
        return ["-"] * 5
    cells = []
    for key in ("cpu", "wall"):
        cells += [
            f"{_middle(runs, key):.2f}",
            f"{_middle(runs, key) / _middle(reference, key):.2f}" if reference else "",
        ]
    return [*cells, f"{_middle(runs, 'peak'):.0f}"]


def _middle(runs: Sequence[Spent], key: str) -> float:
    return median(run[key] for run in runs)
