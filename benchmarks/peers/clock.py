"""Times one framework in this process, and prints what it took as JSON.

    python -P benchmarks/peers/clock.py lughus

A driver beside this file builds an agent in `steps(count)` and `parallel(count, seconds)`; what they return plays it
once and says how many tools ran. The clock starts after that, within a running event loop. `-P`, as a driver bears its
framework's name and would be imported in its place.
"""

import asyncio
import importlib.util
import json
import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from types import ModuleType

STEPS = 50
TOOLS = 8
TOOL_SECONDS = 0.2
RUNS = 7

Play = Callable[[], Awaitable[int]]


def driver(peer: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"driver_{peer}", Path(__file__).with_name(f"{peer}.py"))
    if spec is None or spec.loader is None:
        raise SystemExit(f"{peer} has no driver beside {__file__}")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def timed(play: Play, tools: int) -> tuple[float, float]:
    """Seconds on the clock, and of this process's CPU."""

    async def watched() -> tuple[float, float]:
        wall, cpu = time.perf_counter(), time.process_time()
        ran = await play()
        spent = time.perf_counter() - wall, time.process_time() - cpu
        if ran != tools:
            raise SystemExit(f"{ran} tools ran where {tools} were asked for: this is no measure of {sys.argv[1]}")
        return spent

    return asyncio.run(watched())


def main() -> None:
    peer = driver(sys.argv[1])
    timed(peer.steps(STEPS), STEPS), timed(peer.parallel(TOOLS, TOOL_SECONDS), TOOLS)  # the first is the warm-up
    steps = [timed(peer.steps(STEPS), STEPS) for _ in range(RUNS)]
    parallel = [timed(peer.parallel(TOOLS, TOOL_SECONDS), TOOLS) for _ in range(RUNS)]
    shape = {
        "step": [wall / STEPS for wall, _ in steps],
        "cpu": [cpu / STEPS for _, cpu in steps],
        "parallel": [wall for wall, _ in parallel],
    }
    print(json.dumps(shape))


if __name__ == "__main__":
    main()
