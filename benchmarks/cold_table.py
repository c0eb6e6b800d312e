"""How `cold.py` shows what it measured."""

from collections.abc import Mapping, Sequence
from statistics import median

from cold_contenders import Contender, named

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
            print(f"| {named(contender)} | {' | '.join(_cells(runs, reference))} |")


def _cells(runs: Sequence[Spent], reference: Sequence[Spent]) -> list[str]:
    """A ratio is the median of the rounds' own: the two ran within a minute of one another."""
    if not runs:
        return ["-"] * 5
    cells = []
    for key in ("cpu", "wall"):
        ratios = [run[key] / other[key] for run, other in zip(runs, reference, strict=False)]
        cells += [f"{median(run[key] for run in runs):.2f}", f"{median(ratios):.2f}" if ratios else ""]
    return [*cells, f"{median(run['peak'] for run in runs):.0f}"]
