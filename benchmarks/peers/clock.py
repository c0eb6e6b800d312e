"""Times one framework in this process, and prints what it took as JSON.

    python -P benchmarks/peers/clock.py lughus

A driver beside this file makes an agent in `agent(look, rounds, calls, seconds)`: its model asks `rounds` times for
`calls` calls of the tool `look`, then answers. What that returns plays the agent once. The clock starts after it was
made, within a running event loop. `-P`, as a driver bears its framework's name and would be imported in its place.
"""

import asyncio
import importlib.util
import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

STEPS = 50
TOOLS = 8
TOOL_SECONDS = 0.2
RUNS = 5  # in each of several processes


def driver(peer: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"driver_{peer}", Path(__file__).with_name(f"{peer}.py"))
    if spec is None or spec.loader is None:
        raise SystemExit(f"{peer} has no driver beside {__file__}")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def waiting(ran: list[int]) -> Callable[..., Any]:
    async def look(at: int, seconds: float) -> str:
        """Looks at something."""
        if seconds:
            await asyncio.sleep(seconds)
        ran.append(at)
        return f"seen {at}"

    return look


def blocking(ran: list[int]) -> Callable[..., Any]:
    def look(at: int, seconds: float) -> str:
        """Looks at something."""
        time.sleep(seconds)
        ran.append(at)
        return f"seen {at}"

    return look


def timed(peer: ModuleType, tool: Callable[[list[int]], Any], *shape: float) -> tuple[float, float]:
    """Seconds on the clock, and of this process's CPU. `shape` is rounds, calls and seconds."""
    ran: list[int] = []

    async def watched() -> tuple[float, float]:
        play = peer.agent(tool(ran), *shape)
        wall, cpu = time.perf_counter(), time.process_time()
        await play()
        return time.perf_counter() - wall, time.process_time() - cpu

    spent = asyncio.run(watched())
    if len(ran) != shape[0] * shape[1]:
        raise SystemExit(f"{len(ran)} tools ran where {shape[0] * shape[1]} were asked for: this is no measure")
    return spent


def main() -> None:
    peer = driver(sys.argv[1])
    shapes = {
        "steps": (waiting, STEPS, 1, 0.0),
        "waiting": (waiting, 1, TOOLS, TOOL_SECONDS),
        "blocking": (blocking, 1, TOOLS, TOOL_SECONDS),
    }
    for shape in shapes.values():  # what is imported and compiled at first use
        timed(peer, *shape)
    spent = {name: [timed(peer, *shape) for _ in range(RUNS)] for name, shape in shapes.items()}
    times = {
        "step": [wall / STEPS for wall, _ in spent["steps"]],
        "cpu": [cpu / STEPS for _, cpu in spent["steps"]],
        "waiting": [wall for wall, _ in spent["waiting"]],
        "blocking": [wall for wall, _ in spent["blocking"]],
    }
    print(json.dumps(times))


if __name__ == "__main__":
    main()
