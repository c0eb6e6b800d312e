"""The demo model plays whole tasks, and every number it gives is one that can be computed without it."""

import csv

from agentfn.loop import Result
from agentfn.models import Turn
from demo import DemoModel
from functions.analyst.desk import AGENT, Desk
from tools import TOOLS

QUESTION = (
    "How many penguins of each species are there, and how does mean body mass differ by species and sex? "
    "Chart it and write a report."
)


def penguins() -> list[dict[str, str]]:
    with (AGENT / "data" / "penguins.csv").open(newline="") as file:
        return list(csv.DictReader(file))


def ask(desk: Desk, *turns: str | Turn) -> Result:
    return desk.run(DemoModel(), TOOLS, *turns)


def names(desk: Desk) -> list[str]:
    return [info.name for info in desk.produced]
