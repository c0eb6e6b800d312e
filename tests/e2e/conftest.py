"""One emulator, one deployment of each kind, for all end-to-end tests. Logs of every step stay in .e2e/."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from a2a.types import Part

from e2e.caller import Caller, csv
from e2e.deployment import Account
from e2e.emulation import ROOT, emulator

FOLDER = ROOT / ".e2e"
CODE = "../functions/analyst"
QUESTION = "How does mean body mass differ by species and sex? Chart it and write a report."
PAUSE = 3.0
"""Seconds that the slow analyst's model takes for each of its five or more answers."""


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
def slow_analyst(account: Account) -> Caller:
    """An agent deployed alone, on a storage stack of its own. One run of it has 8 seconds, a request 6."""
    account.deploy("infra/storage.yaml", "agentfn-storage")
    parameters = {"AgentName": "analyst", "CodeUri": CODE, "Model": "demo", "Timeout": "10", "RequestSeconds": "8"}
    outputs = account.deploy(account.build("infra/agent.yaml", "slow", **parameters), "slow", **parameters)
    account.set_variable(outputs["FunctionName"], "DEMO_PAUSE", str(PAUSE))
    return Caller(account.endpoint, outputs["Url"], account.token(outputs["TokenSecretArn"]))


@pytest.fixture(scope="session")
def penguins() -> Part:
    return csv("penguins.csv", (ROOT / "functions" / "analyst" / "data" / "penguins.csv").read_bytes())
