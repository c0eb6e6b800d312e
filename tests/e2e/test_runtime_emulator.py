"""Each agent's package under Lambda's own runtime interface emulator, with every file of its `events/`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from agentfn.local.embedded_aws import EmbeddedAws
from e2e.emulator.process import ROOT
from e2e.runtime_emulator import Function, Package, function

pytestmark = [pytest.mark.timeout(600)]

EVENTS = {"card", "send-blocking", "send-non-blocking", "get", "continuation"}


@pytest.fixture(scope="module")
def aws() -> Iterator[EmbeddedAws]:
    with EmbeddedAws() as aws:
        yield aws


@pytest.fixture(scope="module", params=["analyst", "librarian"])
def agent(request: pytest.FixtureRequest) -> Path:
    return ROOT / "functions" / str(request.param)


@pytest.fixture(scope="module")
def package(agent: Path, tmp_path_factory: pytest.TempPathFactory) -> Package:
    return Package.build(agent, tmp_path_factory.mktemp(agent.name))


@pytest.fixture(scope="module")
def running(
    agent: Path, package: Package, aws: EmbeddedAws, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Function]:
    variables = json.loads((agent / "events" / "env.json").read_text())["Parameters"]
    variables |= aws.resources.environment() | {"AWS_ENDPOINT_URL": aws.url}
    log = tmp_path_factory.mktemp("log") / f"{agent.name}.log"
    with function(package, log, **variables) as running:
        yield running


def body(answer: Any) -> Any:
    assert answer["statusCode"] == 200, answer
    return json.loads(answer["body"])


def test_every_event_of_an_agent_is_answered_by_its_package(agent: Path, package: Package, running: Function) -> None:
    events = {path.stem: json.loads(path.read_text()) for path in (agent / "events").glob("*.json")}
    assert events.keys() - {"env"} == EVENTS
    before = package.files()

    assert body(running.invoke(events["card"]))["name"] == agent.name
    done = body(running.invoke(events["send-blocking"]))["result"]["task"]
    assert done["status"]["state"] == "TASK_STATE_COMPLETED"
    sent = body(running.invoke(events["send-non-blocking"]))["result"]["task"]
    assert sent["status"]["state"] == "TASK_STATE_SUBMITTED"
    record = events["continuation"]["Records"][0]
    record["body"] = json.dumps({**json.loads(record["body"]), "task": sent["id"]})
    assert running.invoke(events["continuation"]) == {"batchItemFailures": []}
    request = json.loads(events["get"]["body"])
    events["get"]["body"] = json.dumps({**request, "params": {"id": sent["id"]}})
    assert body(running.invoke(events["get"]))["result"]["status"]["state"] == "TASK_STATE_COMPLETED"

    assert package.files() == before, "Lambda's package folder is read-only"
