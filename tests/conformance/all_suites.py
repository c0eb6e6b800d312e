"""The conformance suites and the client libraries against the test agent: `make conformance`.

Every count is pinned, and every skip by its name: a suite that skips more than it did proves less. Two agents are
asked: one that offers everything, and one without streams and webhooks, which must refuse them.
"""

import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import cycle

import pytest

from conformance.suites import ROOT, Report, Suite, client, lint, sweep

AT_ONCE = 4  # most of what they do is waiting

NOT_IN_OLD = {
    "no history is given where none is wanted",
    "the tasks of a context are listed",
    "an ended task is not followed",
}
NOT_IN_OLD_REST = {"webhooks are listed", "a webhook is deleted"}  # the libraries have no call for it
STREAMS = {
    "a stream begins with the task and ends with its end",
    "events come as they happen",
    "a running task is followed again",
    "an ended task is not followed",
}
WEBHOOKS = {"a webhook is read", "webhooks are listed", "a webhook is deleted"}

WHERE_NOT_OFFERED = {  # what must be refused: proved by the minimal agent
    "streaming_capability_consistency",  # 3.1.2
    "subscribe_capability_required",  # 3.1.6
    "push_notifications_capability_consistency",  # 3.5
}
NO_STREAMS = {
    "streaming_response_content_type",
    "streaming_jsonrpc_framing",
    "streaming_first_event_is_task",
    "streaming_event_kinds",
    "streaming_status_update_shape",
    "streaming_artifact_update_shape",
    "streaming_task_id_consistency",
    "streaming_terminal_state_closes",
    "subscribe_returns_stream",
    "subscribe_replays_state",
    "subscribe_not_found",
}
NO_WEBHOOKS = {
    "push_set_persists",
    "push_get_returns_config",
    "push_list_returns_all",
    "push_delete_removes",
    "push_set_task_not_found",
    "push_get_task_not_found",
    "push_fires_on_completion",
}
SINCE_1_0 = {
    "version_not_supported",  # 3.6.2
    "error_data_atype",  # 3.3.2
    "tasks_list_sorted_desc",  # 3.1.4
}


@dataclass(frozen=True)
class Case:
    """None may fail. `skips` are the names of what is skipped."""

    profile: str
    name: str
    suite: Suite
    passed: int
    skips: frozenset[str] = frozenset()

    def __str__(self) -> str:
        return f"{self.profile} {self.name} {self.passed}/0/{len(self.skips)}"


Reports = Mapping[Case, Future[Report]]


def full(name: str, suite: Suite, passed: int, *skips: set[str]) -> Case:
    return Case("full", name, suite, passed, frozenset[str]().union(*skips))


def minimal(name: str, suite: Suite, passed: int, *skips: set[str]) -> Case:
    return Case("minimal", name, suite, passed, frozenset[str]().union(*skips))


TIMED = [  # they give up soon, and run before the others
    full("a2a-testbed 1.0", sweep("1.0"), 59, WHERE_NOT_OFFERED),
    full("a2a-testbed 0.3", sweep("0.3"), 56, WHERE_NOT_OFFERED, SINCE_1_0),
    full("a2a-lint", lint(), 1),
    minimal("a2a-lint", lint(), 1),
]
OTHERS = [
    full("a2a-sdk 1.3 JSONRPC", client("v1_0", "--transport", "JSONRPC"), 20),
    full("a2a-sdk 1.3 HTTP+JSON", client("v1_0", "--transport", "HTTP+JSON"), 20),
    full("a2a-sdk 1.3 JSONRPC in 0.3", client("v1_0", "--old"), 17, NOT_IN_OLD),
    full("a2a-sdk 0.3 JSONRPC", client("v0_3", "--transport", "JSONRPC"), 17, NOT_IN_OLD),
    full("a2a-sdk 0.3 HTTP+JSON", client("v0_3", "--transport", "HTTP+JSON"), 15, NOT_IN_OLD, NOT_IN_OLD_REST),
    full("@a2a-js/sdk JSONRPC", client("js", "--transport", "JSONRPC"), 20),
    full("@a2a-js/sdk HTTP+JSON", client("js", "--transport", "HTTP+JSON"), 20),
    full("@a2a-js/sdk JSONRPC in 0.3", client("js", "--old"), 17, NOT_IN_OLD),
    minimal("a2a-sdk 1.3 JSONRPC", client("v1_0", "--transport", "JSONRPC"), 13, STREAMS, WEBHOOKS),
    minimal("a2a-sdk 0.3 HTTP+JSON", client("v0_3", "--transport", "HTTP+JSON"), 11, NOT_IN_OLD, STREAMS, WEBHOOKS),
    minimal("@a2a-js/sdk HTTP+JSON", client("js", "--transport", "HTTP+JSON"), 13, STREAMS, WEBHOOKS),
    minimal("a2a-testbed 1.0", sweep("1.0"), 44, NO_STREAMS, NO_WEBHOOKS),
    minimal("a2a-testbed 0.3", sweep("0.3"), 41, NO_STREAMS, NO_WEBHOOKS, SINCE_1_0),
]


@contextmanager
def served(profile: str) -> Iterator[str]:
    """The address of the test agent, in a process of its own."""
    command = [sys.executable, "-m", "tests.conformance.serve", "--port", "0", "--profile", profile]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout
        try:
            told = next((line for line in server.stdout if "is served at" in line), "")
            found = re.search(r"http://\S+", told)
            assert found, "the test agent did not start; what it said is above"
            yield found[0]
        finally:
            server.terminate()


@pytest.fixture(scope="session")
def urls() -> Iterator[Mapping[str, Iterator[str]]]:
    """The agents of each profile, in turn: two that offer everything, as an agent on one machine serves a few only."""
    with served("full") as one, served("full") as other, served("minimal") as least:
        yield {"full": cycle([one, other]), "minimal": cycle([least])}


@pytest.fixture(scope="session")
def timed(urls: Mapping[str, Iterator[str]]) -> Iterator[Reports]:
    with ThreadPoolExecutor(2) as pool:
        yield {case: pool.submit(case.suite.run, next(urls[case.profile])) for case in TIMED}


@pytest.fixture(scope="session")
def others(urls: Mapping[str, Iterator[str]], timed: Reports) -> Iterator[Reports]:
    wait(timed.values())
    with ThreadPoolExecutor(AT_ONCE) as pool:
        yield {case: pool.submit(case.suite.run, next(urls[case.profile])) for case in OTHERS}


@pytest.mark.parametrize("case", TIMED, ids=str)
def test_a_suite_that_measures_time_finds_no_fault(case: Case, timed: Reports) -> None:
    hold(case, timed[case].result())


@pytest.mark.parametrize("case", OTHERS, ids=str)
def test_nobody_finds_a_fault(case: Case, others: Reports) -> None:
    hold(case, others[case].result())


def hold(case: Case, report: Report) -> None:
    sys.stdout.write(report.text)  # pytest shows it where the counts are others
    assert (report.passed, report.failed, sorted(report.skips)) == (case.passed, 0, sorted(case.skips))
    assert report.skipped == len(case.skips)
