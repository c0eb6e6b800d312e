"""An agent under the runtime client, as on Lambda: a process of its own, which gets its events from the Runtime API."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import boto3
import pytest

from agentfn.local.embedded_aws import REGION, EmbeddedAws
from agentfn.local.lambda_events import queue_event, rest_event
from runtime.conftest import TOKEN, Environment, Starting, events, message
from runtime.lambda_service import FunctionResponse

FIRST, COMPLETED = b'"TASK_STATE_WORKING"', "TASK_STATE_COMPLETED"


@pytest.fixture(scope="module")
def gate_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("gate") / "open"


@pytest.fixture(scope="module")
def clerk(start: Starting, of_the_agent: Mapping[str, str], gate_path: Path) -> Environment:
    return start("app.handler", GATE=str(gate_path), **of_the_agent)


@pytest.fixture
def gate(gate_path: Path) -> Iterator[Path]:
    """Closed; to be opened with `touch`."""
    gate_path.unlink(missing_ok=True)
    yield gate_path
    gate_path.touch()


@pytest.fixture
def queue(aws: EmbeddedAws) -> "Queue":
    return Queue(aws)


class Queue:
    def __init__(self, aws: EmbeddedAws) -> None:
        given = {"aws_access_key_id": "local", "aws_secret_access_key": "local", "endpoint_url": aws.url}
        self._sqs: Any = boto3.client("sqs", region_name=REGION, **given)  # type: ignore[call-overload]
        self._url = aws.resources.queue_url

    def event(self) -> dict[str, Any]:
        """The next message, when it is due, as Lambda's event source hands it on."""
        while True:
            found = self._sqs.receive_message(QueueUrl=self._url, WaitTimeSeconds=1, AttributeNames=["All"])
            if "Messages" in found:
                return queue_event(*found["Messages"])

    def empty(self) -> None:
        self._sqs.purge_queue(QueueUrl=self._url)


def task_of(answer: FunctionResponse) -> Any:
    return events(answer.body())[0]["task"]


def fetched(clerk: Environment, task_id: str) -> Any:
    request = rest_event("GET", f"/tasks/{task_id}", headers={"Authorization": f"Bearer {TOKEN}", "A2A-Version": "1.0"})
    return clerk.invoke(request).json()


def test_the_first_event_comes_before_the_last_is_made(clerk: Environment, gate: Path) -> None:
    answer = clerk.invoke(message("wait"))
    answer.until(FIRST)
    assert not gate.exists()
    assert answer.headers["content-type"] == "application/vnd.awslambda.http-integration-response"
    assert answer.head()["headers"]["content-type"].startswith("text/event-stream")
    gate.touch()
    last = events(answer.body())[-1]["statusUpdate"]["status"]
    assert last["state"] == COMPLETED
    assert last["message"]["parts"][0]["text"] == "The gate is open."
    assert answer.trailers == {}


def test_an_answer_that_is_no_stream_comes_the_same_way(clerk: Environment) -> None:
    answer = clerk.invoke(message("Ada", "SendMessage"))
    assert answer.json()["result"]["task"]["status"]["message"]["parts"][0]["text"] == "Good day, Ada."
    assert (answer.streamed, answer.head()["statusCode"]) == (True, 200)
    assert answer.head()["headers"]["content-type"] == "application/json"


def test_one_environment_serves_one_request_after_another(clerk: Environment) -> None:
    for name in ("Ada", "Grace"):
        last = events(clerk.invoke(message(name)).body())[-1]
        assert last["statusUpdate"]["status"]["message"]["parts"][0]["text"] == f"Good day, {name}."
    refused = clerk.invoke(rest_event("GET", "/tasks"))
    assert refused.head()["statusCode"] == 401
    assert "www-authenticate" in refused.head()["headers"]


def test_the_card_says_that_the_agent_streams(clerk: Environment) -> None:
    assert clerk.invoke(rest_event("GET", "/.well-known/agent-card.json")).json()["capabilities"]["streaming"] is True


def test_who_stops_listening_stops_no_work(clerk: Environment, gate: Path) -> None:
    answer = clerk.invoke(message("wait"), hang_up=True)
    answer.until(b"\0")
    gate.touch()
    task = clerk.invoke(rest_event("GET", "/tasks", headers={"Authorization": f"Bearer {TOKEN}", "A2A-Version": "1.0"}))
    newest = task.json()["tasks"][0]
    assert newest["status"]["state"] == COMPLETED
    assert clerk.process.poll() is None


def test_a_stream_ends_before_the_deadline_and_the_queue_goes_on_with_the_task(
    clerk: Environment, gate: Path, queue: Queue
) -> None:
    queue.empty()
    answer = clerk.invoke(message("wait"), seconds=6)
    task = task_of(answer)
    assert answer.trailers == {}
    assert "COMPLETED" not in str(events(answer.body()))
    gate.touch()
    while fetched(clerk, task["id"])["status"]["state"] != COMPLETED:
        delivered = clerk.invoke(queue.event())
        assert delivered.json() == {"batchItemFailures": []}
        assert not delivered.streamed
    assert fetched(clerk, task["id"])["status"]["message"]["parts"][0]["text"] == "The gate is open."


def test_the_schedule_comes_through_the_same_client(clerk: Environment) -> None:
    answer = clerk.invoke({"agentfn": "sweep"})
    assert set(answer.json().values()) == {0}
    assert (answer.kind, answer.streamed) == ("response", False)


def test_what_is_no_event_of_the_agents_is_an_error_and_the_process_goes_on(clerk: Environment) -> None:
    answer = clerk.invoke({"hello": "world"})
    assert answer.json()["errorType"] == "ValueError"
    assert answer.kind == "error"
    assert clerk.invoke(rest_event("GET", "/health")).json() == {"status": "ok"}


def test_every_line_of_the_log_says_which_request_it_is_of(clerk: Environment) -> None:
    answer = clerk.invoke(message("Ada"))
    answer.whole()
    clerk.invoke(rest_event("GET", "/health")).whole()
    lines = [line for line in clerk.logged() if line.get("function_request_id") == answer.request_id]
    assert {line["message"] for line in lines} >= {"run started", "run ended"}
    assert {line["agent"] for line in lines} == {"clerk"}
