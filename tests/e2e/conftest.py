"""One emulator, one deployment of each kind, for all end-to-end tests. Logs of every step stay in .e2e/."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from a2a.types import Part

from e2e.caller import Caller, csv
from e2e.deployment import Account
from e2e.emulation import ROOT, emulator
from e2e.steps import STORAGE, Steps

FOLDER = ROOT / ".e2e"
CODE = "../functions/analyst"
QUESTION = "How does mean body mass differ by species and sex? Chart it and write a report."
PAUSE = 3.0
"""Seconds that the slow analyst's model takes for each of its five or more answers."""
STEPS_CODE = "../tests/e2e/agents/steps"
STEPS_PAUSE = 1.6
"""Seconds that the model of the agent "steps" takes for each answer: a run of 8 seconds holds four or five."""


@pytest.fixture(scope="session")
def account() -> Iterator[Account]:
    with emulator(FOLDER) as endpoint:
        account = Account(endpoint, FOLDER)
        yield account
        account.keep_logs()


@pytest.fixture(scope="session")
def analyst(account: Account) -> Caller:
    """The root template, as in the README."""
    outputs = account.deploy(account.build("template.yaml", "root"), "agentfn", AnalystModel="demo")
    token = account.token(outputs["AnalystTokenSecretArn"])
    return Caller(account.endpoint, outputs["AnalystUrl"], token)


@pytest.fixture(scope="session")
def storage(account: Account) -> str:
    """The storage stack for agents that are deployed alone."""
    account.deploy("infra/storage.yaml", STORAGE)
    return STORAGE


@pytest.fixture(scope="session")
def slow_analyst(account: Account, storage: str) -> Caller:
    """An agent deployed alone. One run of it has 8 seconds, a request 6."""
    parameters = {"AgentName": "analyst", "CodeUri": CODE, "Model": "demo", "Timeout": "10", "RequestSeconds": "8"}
    outputs = account.deploy(account.build("infra/agent.yaml", "slow", **parameters), "slow", **parameters)
    account.set_variable(outputs["FunctionName"], "DEMO_PAUSE", str(PAUSE))
    return Caller(account.endpoint, outputs["Url"], account.token(outputs["TokenSecretArn"]))


@pytest.fixture(scope="session")
def steps(account: Account, storage: str) -> Steps:
    """An agent whose invocations end after 10 seconds, and whose continuations may fail twice."""
    parameters = {"AgentName": "steps", "CodeUri": STEPS_CODE, "Model": "steps"}
    built = account.build("infra/agent.yaml", "steps", **parameters)
    outputs = account.deploy(built, "steps", **parameters, Timeout="10", RequestSeconds="5", MaxReceives="2")
    account.set_variable(outputs["FunctionName"], "STEPS_PAUSE", str(STEPS_PAUSE))
    return Steps(account, Caller(account.endpoint, outputs["Url"], account.token(outputs["TokenSecretArn"])), outputs)


@pytest.fixture(scope="session")
def penguins() -> Part:
    return csv("penguins.csv", (ROOT / "functions" / "analyst" / "data" / "penguins.csv").read_bytes())
