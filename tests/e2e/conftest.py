"""One emulator, one deployment of each kind, for all end-to-end tests. Logs of every step stay in .e2e/."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from a2a.types import Part

from e2e.a2a_client import AgentClient, csv
from e2e.deployment import Account
from e2e.emulator.process import ROOT, emulator
from e2e.steps_agent import StepsAgent, deploy_steps

FOLDER = ROOT / ".e2e"
CODE = "../functions/analyst"
QUESTION = "How does mean body mass differ by species and sex? Chart it and write a report."
PAUSE = 3.0
"""Seconds that the slow analyst's model takes for each of its five or more answers."""
STORAGE = "agentfn-storage"


@pytest.fixture(scope="session")
def account() -> Iterator[Account]:
    with emulator(FOLDER) as endpoint:
        account = Account(endpoint, FOLDER)
        yield account
        account.keep_logs()


@pytest.fixture(scope="session")
def application(account: Account) -> dict[str, str]:
    """The outputs of the root template, deployed as in the README."""
    template = account.build("template.yaml", "root")
    return account.deploy(template, "agentfn", AnalystModel="demo", LibrarianModel="demo")


@pytest.fixture(scope="session")
def analyst(account: Account, application: dict[str, str]) -> AgentClient:
    return AgentClient(account.endpoint, application["AnalystUrl"], account.token(application["AnalystTokenSecretArn"]))


@pytest.fixture(scope="session")
def librarian(account: Account, application: dict[str, str]) -> AgentClient:
    return AgentClient(
        account.endpoint, application["LibrarianUrl"], account.token(application["LibrarianTokenSecretArn"])
    )


@pytest.fixture(scope="session")
def storage(account: Account) -> str:
    """The storage stack for agents that are deployed alone."""
    account.deploy("infra/storage.yaml", STORAGE)
    return STORAGE


@pytest.fixture(scope="session")
def slow_analyst(account: Account, storage: str) -> AgentClient:
    """An agent deployed alone. One run of it has 8 seconds, a request 6."""
    parameters = {"AgentName": "analyst", "CodeUri": CODE, "Model": "demo", "Timeout": "10", "RequestSeconds": "8"}
    outputs = account.deploy(account.build("infra/agent.yaml", "slow", **parameters), "slow", **parameters)
    account.set_variable(outputs["FunctionName"], "DEMO_PAUSE", str(PAUSE))
    return AgentClient(account.endpoint, outputs["Url"], account.token(outputs["TokenSecretArn"]))


@pytest.fixture(scope="session")
def steps_package(account: Account) -> Path:
    """The agent in agents/steps, built; the template beside which its package lies."""
    parameters = {"AgentName": "steps", "CodeUri": "../tests/e2e/agents/steps"}
    return account.build("infra/agent.yaml", "steps", **parameters)


@pytest.fixture(scope="session")
def steps(account: Account, storage: str, steps_package: Path) -> StepsAgent:
    """One whose invocations end after 10 seconds, and whose continuations may fail twice."""
    limits = {"Timeout": "10", "RequestSeconds": "8", "MaxReceives": "2", "Streaming": "true"}
    return deploy_steps(account, storage, steps_package, "steps", **limits)


@pytest.fixture(scope="session")
def patient_steps(account: Account, storage: str, steps_package: Path) -> StepsAgent:
    """One whose invocations may take 15 minutes, as the template has it."""
    return deploy_steps(account, storage, steps_package, "patient-steps", Streaming="true")


@pytest.fixture(scope="session")
def published_steps(account: Account, storage: str, steps_package: Path) -> StepsAgent:
    """One that is made from snapshots, as far as the emulator goes: events take the alias of a version."""
    return deploy_steps(account, storage, steps_package, "published-steps", SnapStart="PublishedVersions")


@pytest.fixture
def tell(capsys: pytest.CaptureFixture[str]) -> Callable[[str], None]:
    """Says what was measured, although the test passes."""

    def tell(text: str) -> None:
        with capsys.disabled():
            sys.stdout.write(f"\n    {text}\n    ")

    return tell


@pytest.fixture(scope="session")
def penguins() -> Part:
    return csv("penguins.csv", (ROOT / "functions" / "analyst" / "data" / "penguins.csv").read_bytes())
