"""The deployed analyst, over HTTP through its API."""

from __future__ import annotations

import json
from urllib.parse import urlsplit

import httpx
import pytest
from a2a.types import Part, Task, TaskState

from e2e.a2a_client import AgentClient, said
from e2e.conftest import QUESTION
from e2e.deployment import Account

pytestmark = pytest.mark.timeout(900)  # the first test builds and deploys


def test_the_card_is_public_and_names_the_address_it_was_read_at(analyst: AgentClient) -> None:
    card = AgentClient(analyst.endpoint, analyst.url).card()
    assert card.name == "analyst"
    assert {interface.url.rstrip("/") for interface in card.supported_interfaces} == {analyst.url}
    assert "bearer" in card.security_schemes


def test_a_deployment_with_no_model_is_refused(account: Account, analyst: AgentClient) -> None:
    with pytest.raises(RuntimeError, match="AnalystModel"):
        account.deploy(account.built("root"), "no-model")


@pytest.mark.parametrize("token", ["", "wrong"])
def test_a_request_without_the_token_is_refused(analyst: AgentClient, token: str) -> None:
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "ListTasks", "params": {}})
    answer = AgentClient(analyst.endpoint, analyst.url, token).post(body)
    assert answer.status_code == 401
    assert analyst.post(body).status_code == 200


def test_a_blocking_send_with_a_table_brings_the_report(analyst: AgentClient, penguins: Part) -> None:
    task = analyst.send(QUESTION, penguins)
    task = analyst.wait(task, 60)  # a cold start may use up the request's time: then the queue ends the task
    assert task.status.state == TaskState.TASK_STATE_COMPLETED, said(task)
    files = downloads(task)
    assert {"report.md", "report.html"} <= set(files)
    assert any(name.endswith(".svg") for name in files)
    assert any(name.endswith(".csv") for name in files)
    report = files["report.html"].decode()
    assert "<svg" in report
    for species in ("Adelie", "Chinstrap", "Gentoo"):
        assert species in report


def test_a_non_blocking_send_answers_at_once_and_ends_through_the_queue(analyst: AgentClient, penguins: Part) -> None:
    task = analyst.send(QUESTION, penguins, wait=False)
    assert task.status.state in {TaskState.TASK_STATE_SUBMITTED, TaskState.TASK_STATE_WORKING}
    assert not task.artifacts
    task = analyst.wait(task, 90)
    assert task.status.state == TaskState.TASK_STATE_COMPLETED, said(task)
    assert "report.md" in downloads(task)


def downloads(task: Task) -> dict[str, bytes]:
    """Every file of the task by name, fetched through its link with no credentials but the link's own."""
    files: dict[str, bytes] = {}
    for artifact in task.artifacts:
        for part in artifact.parts:
            if not part.HasField("url"):
                continue
            answer = httpx.get(part.url)
            assert answer.status_code == 200, f"{part.filename}: {answer.status_code} {answer.text[:300]}"
            assert answer.headers["Content-Type"].partition(";")[0] == part.media_type.partition(";")[0]
            assert part.filename in answer.headers["Content-Disposition"]
            assert "X-Amz-Algorithm=AWS4-HMAC-SHA256" in urlsplit(part.url).query
            files[part.filename] = answer.content
    return files
