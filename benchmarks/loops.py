"""What a step of the loop takes beside other frameworks, with a model and a tool that take no time.

    python benchmarks/loops.py [peer ...]

Each framework runs in a process of its own, from a virtual environment of its own: `.venv-bench/<peer>` with the exact
versions of `benchmarks/peers/<peer>.txt`, made at the first run. agentfn runs from this one. See docs/performance.md.
"""

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
DISTRIBUTIONS = {
    "lughus": "lughus",
    "openai_agents": "openai-agents",
    "pydantic_ai": "pydantic-ai-slim",
    "strands": "strands-agents",
}
# Without it, lughus's client asks the network for a list of prices.
QUIET = {"LITELLM_LOCAL_MODEL_COST_MAP": "True"}


@dataclass(frozen=True)
class Times:
    """Medians in seconds: of a step on the clock and of the CPU, and of the turn of eight tools."""

    name: str
    step: float
    cpu: float
    parallel: float


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


def times(peer: str) -> Times:
    command = [str(python_of(peer)), "-P", str(PEERS / "clock.py"), peer]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, env=os.environ | QUIET)
    shape = json.loads(done.stdout.splitlines()[-1])
    return Times(pinned(peer), *(median(shape[key]) for key in ("step", "cpu", "parallel")))


def table(rows: list[Times]) -> None:
    ours = rows[0]
    print("| framework | a step, s | to ours | CPU a step, s | to ours | 8 tools of 0.2 s, s |")
    print("|---|---|---|---|---|---|")
    for row in sorted(rows, key=lambda row: row.step):
        wall, cpu = row.step / ours.step, row.cpu / ours.cpu
        print(f"| {row.name} | {row.step:.5f} | {wall:.2f} | {row.cpu:.5f} | {cpu:.2f} | {row.parallel:.3f} |")
    print(f"\nPython {platform.python_version()}, {os.cpu_count()} CPUs, {platform.system()} {platform.machine()}")


def main() -> None:
    rows = [times(OURS)]
    for peer in sys.argv[1:] or DISTRIBUTIONS:
        try:
            rows.append(times(peer))
        except subprocess.CalledProcessError as error:
            print(f"{peer} is left out: {error}", file=sys.stderr)
    table(rows)


if __name__ == "__main__":
    main()
