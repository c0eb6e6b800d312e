"""What a step of the loop takes beside other frameworks, with a model and a tool that take no time.

    python benchmarks/loops.py [peer ...]

Each framework runs in processes of its own, from a virtual environment of its own: `.venv-bench/<peer>` with the exact
versions of `benchmarks/peers/<peer>.txt`, made at the first run. agentfn runs from this one. They take turns, so that
what else the machine does meets all of them. See docs/performance.md.
"""

import itertools
import json
import os
import platform
import subprocess
import sys
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from statistics import median

HERE = Path(__file__).parent
PEERS = HERE / "peers"
ENVIRONMENTS = HERE.parent / ".venv-bench"
OURS = "agentfn"
ROUNDS = 3  # processes of each
DISTRIBUTIONS = {
    "lughus": "lughus",
    "openai_agents": "openai-agents",
    "pydantic_ai": "pydantic-ai-slim",
    "strands": "strands-agents",
}
# No tracing, and no list of prices from the network.
QUIET = {"OTEL_SDK_DISABLED": "true", "OPENAI_AGENTS_DISABLE_TRACING": "1", "LITELLM_LOCAL_MODEL_COST_MAP": "True"}


@dataclass(frozen=True)
class Times:
    """Medians in seconds: of a step on the clock and of the CPU, and of a turn of eight tools, async and blocking."""

    name: str
    step: float
    cpu: float
    waiting: float
    blocking: float


def python_of(peer: str) -> Path:
    """The interpreter of that peer's environment, which is made where it is missing or has other versions.

    Raises CalledProcessError where the versions cannot be installed.
    """
    if peer == OURS:
        return Path(sys.executable)
    pins, home = PEERS / f"{peer}.txt", ENVIRONMENTS / peer
    python, installed = home / "bin" / "python", home / "installed.txt"
    if installed.exists() and installed.read_text() == pins.read_text():
        return python
    print(f"Installing {peer} in {home} ...", file=sys.stderr)
    subprocess.run([sys.executable, "-m", "venv", "--clear", str(home)], check=True)
    quiet = ["--quiet", "--disable-pip-version-check"]
    subprocess.run([str(python), "-m", "pip", "install", *quiet, "--requirement", str(pins)], check=True)
    installed.write_text(pins.read_text())
    return python


def pinned(peer: str) -> str:
    """The name and the version that the table shows."""
    if peer == OURS:
        return f"{OURS} {version(OURS)}"
    head = f"{DISTRIBUTIONS[peer]}=="
    [line] = [line for line in (PEERS / f"{peer}.txt").read_text().splitlines() if line.startswith(head)]
    return line.replace("==", " ")


def timed(peer: str) -> dict[str, list[float]]:
    """What one process of the peer measured. Raises CalledProcessError where it fails."""
    command = [str(python_of(peer)), "-P", str(PEERS / "clock.py"), peer]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, env=os.environ | QUIET)
    measured: dict[str, list[float]] = json.loads(done.stdout.splitlines()[-1])
    return measured


def times(peer: str, rounds: list[dict[str, list[float]]]) -> Times:
    keys = ("step", "cpu", "waiting", "blocking")
    return Times(pinned(peer), *(median(itertools.chain(*(measured[key] for measured in rounds))) for key in keys))


def table(rows: list[Times]) -> None:
    ours = rows[0]
    print("| framework | a step, s | to ours | CPU a step, s | to ours | 8 tools of 0.2 s, s | 8 blocking ones, s |")
    print("|---|---|---|---|---|---|---|")
    for row in sorted(rows, key=lambda row: row.step):
        wall, cpu = row.step / ours.step, row.cpu / ours.cpu
        times = f"{row.step:.5f} | {wall:.2f} | {row.cpu:.5f} | {cpu:.2f} | {row.waiting:.3f} | {row.blocking:.3f}"
        print(f"| {row.name} | {times} |")
    print(f"\nPython {platform.python_version()}, {os.cpu_count()} CPUs, {platform.system()} {platform.machine()}")


def main() -> None:
    taking_part = [OURS, *(sys.argv[1:] or DISTRIBUTIONS)]
    rounds: dict[str, list[dict[str, list[float]]]] = {peer: [] for peer in taking_part}
    for peer in ROUNDS * taking_part:
        if peer not in rounds:
            continue
        try:
            rounds[peer].append(timed(peer))
        except subprocess.CalledProcessError as error:
            if peer == OURS:
                raise
            print(f"{peer} is left out: {error}", file=sys.stderr)
            del rounds[peer]
    table([times(peer, measured) for peer, measured in rounds.items()])


if __name__ == "__main__":
    main()
