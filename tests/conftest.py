"""Fixtures for all tests: an agent with a few tools, and a stage that runs it.

Hypothesis tries the same examples in every run, and no example has a time limit: the code alone decides whether a run
passes. `FUZZ_EXAMPLES=20000 pytest --timeout 0 tests/security` tries that many new ones for each test that does not say
how many it takes. What it finds is kept in .hypothesis/, is tried first in the next such run, and is printed with the
line that tries it again. A fault that was found becomes an `@example` of its test.
"""

import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from agentfn import Agent, Context, File, InputFile, Output, tool
from agentfn.models import Model
from agentfn.testing import Stage
from skipped_time import skipped_time

EXAMPLES = int(os.environ.get("FUZZ_EXAMPLES", "0"))

# How long an example takes to make depends on the machine.
settings.register_profile(
    "same", derandomize=True, deadline=None, print_blob=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile("new", settings.get_profile("same"), derandomize=False, max_examples=EXAMPLES or 100)
settings.load_profile("new" if EXAMPLES else "same")

# Their tests import litellm, which takes a processor ten seconds.
LITELLM_TESTS = ("tests/models/", "tests/loop/test_bad_models.py", "tests/journeys/test_model_providers.py")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """With `--dist loadfile`, one worker runs all files that import litellm."""
    from xdist.scheduler import LoadFileScheduling

    class Scheduling(LoadFileScheduling):  # type: ignore[misc,unused-ignore]
        def _split_scope(self, nodeid: str) -> str:
            return "litellm" if nodeid.startswith(LITELLM_TESTS) else super()._split_scope(nodeid)

    return Scheduling(config, log) if config.getoption("dist") == "loadfile" else None


class SideEffects:
    """Records the side effects of a test agent's tools."""

    def __init__(self) -> None:
        self.entries: list[str] = []
        self._lock = threading.Lock()

    def record(self, entry: str) -> None:
        with self._lock:
            self.entries.append(entry)


@pytest.fixture
def ledger() -> SideEffects:
    return SideEffects()


@pytest.fixture
def agent(ledger: SideEffects) -> Agent:
    """An agent that looks things up, books things (which must not happen twice) and makes files."""

    @tool(idempotent=True)
    def look_up(city: str) -> str:
        """Tells the weather of a city."""
        ledger.record(f"look_up {city}")
        return f"Rain in {city}."

    @tool(idempotent=True)
    def now() -> str:
        """Tells the time."""
        ledger.record("now")
        return "noon"

    @tool
    def book(seat: int) -> str:
        """Books a seat."""
        ledger.record(f"book {seat}")
        return f"Seat {seat} is booked."

    @tool(idempotent=True)
    def explode() -> str:
        """Fails."""
        raise RuntimeError("the fuse was short")

    @tool(idempotent=True, timeout_seconds=2)
    def sleep(seconds: float) -> str:
        """Sleeps, and cannot be woken."""
        time.sleep(seconds)
        return "awake"

    @tool(idempotent=True)
    def count_bytes(file: InputFile) -> str:
        """Counts the bytes of a file."""
        return f"{file.name}: {len(file.read_bytes())}"

    @tool(idempotent=True)
    def draw(context: Context, name: str = "chart.svg") -> Output:
        """Draws a chart."""
        context.progress("drawing")
        return Output("drawn", files=[File(name, b"<svg xmlns='http://www.w3.org/2000/svg'/>", "image/svg+xml")])

    @tool(idempotent=True)
    def recite(length: int) -> str:
        """Recites a long text."""
        return "x" * length

    return Agent(
        name="clerk",
        description="A clerk for tests.",
        instructions="You are a clerk.",
        tools=[look_up, now, book, explode, sleep, count_bytes, draw, recite],
    )


@pytest.fixture
def no_waiting() -> Iterator[None]:
    """Time passes only while everything waits, and then at once; see skipped_time."""
    with skipped_time():
        yield


StageMaker = Callable[..., Stage]


@pytest.fixture
def play(agent: Agent) -> Iterator[StageMaker]:
    """`play(model, **settings)` starts a stage with the agent."""
    with ExitStack() as stack:

        def make(model: Model, **settings: Any) -> Stage:
            return stack.enter_context(Stage(agent, model, **settings))

        yield make


def status_text(task: dict[str, Any]) -> str:
    """The text of the message in the task's status."""
    return "".join(part.get("text", "") for part in task["status"]["message"]["parts"])


def task_state(task: dict[str, Any]) -> str:
    return str(task["status"]["state"]).removeprefix("TASK_STATE_").lower()
