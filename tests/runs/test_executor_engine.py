"""Agents of other frameworks: an executor that is written against a2a-sdk alone, with our store, queue and files."""

import time
from typing import Any

import pytest
import requests

from agentfn import Agent
from agentfn.testing import Stage
from conftest import status_text, task_state
from support.echo_executor import EchoExecutor


@pytest.fixture
def echo() -> EchoExecutor:
    return EchoExecutor()


@pytest.fixture
def stage(echo: EchoExecutor) -> Any:
    agent = Agent(name="clerk", description="Of another framework.")
    with Stage(agent, executor=echo) as stage:
        yield stage


def finish(stage: Stage, text: str, **rest: Any) -> dict[str, Any]:
    task = stage.send(text, wait=False, **rest)
    stage.drain_queue()
    return stage.get(task["id"])


def test_an_executor_s_task_runs_whole_in_the_queue_s_door(stage: Stage, echo: EchoExecutor) -> None:
    task = finish(stage, "hello", files={"a.txt": b"bytes"})
    assert (task_state(task), status_text(task)) == ("completed", "You said hello.")
    [artifact] = task["artifacts"]
    assert requests.get(artifact["parts"][0]["url"], timeout=5).content == b"bytes!"
    assert echo.runs == 1


@pytest.mark.usefixtures("no_waiting")
def test_a_blocking_send_waits_for_the_other_invocation(stage: Stage) -> None:
    started = time.monotonic()
    task = stage.send("hello", seconds=20)
    assert time.monotonic() - started < 20
    assert task_state(task) == "submitted"


def test_a_bare_message_completes_the_task(stage: Stage) -> None:
    assert status_text(finish(stage, "talk")) == "Just talk."


def test_it_can_ask_and_is_called_again_with_the_answer(stage: Stage, echo: EchoExecutor) -> None:
    task = finish(stage, "ask")
    assert task_state(task) == "input_required"
    stage.send("this one", taskId=task["id"], wait=False)
    stage.drain_queue()
    assert status_text(stage.get(task["id"])) == "You said this one."
    assert echo.runs == 2


def test_one_that_breaks_or_stops_without_an_end_fails_with_words(stage: Stage) -> None:
    broken = finish(stage, "crash")
    assert task_state(broken) == "failed"
    assert "broken" not in status_text(broken)
    silent = finish(stage, "silence")
    assert (task_state(silent), status_text(silent)) == ("failed", "The agent stopped without a result.")


@pytest.mark.usefixtures("no_waiting")
def test_one_that_needs_more_time_than_a_run_has_fails_and_says_so(stage: Stage) -> None:
    task = stage.send("sleep", wait=False)
    stage.drain_queue(seconds=30)
    assert "more time than one run" in status_text(stage.get(task["id"]))


@pytest.mark.parametrize("repeatable", [False, True])
def test_after_a_run_that_died_it_is_run_again_only_if_that_is_harmless(repeatable: bool) -> None:
    from agentfn.aws_clients import aws_client

    echo = EchoExecutor()
    with Stage(Agent(name="clerk", description="x"), executor=echo, repeatable=repeatable) as stage:
        task = stage.send("hello", wait=False)
        aws_client("dynamodb").update_item(
            TableName=stage.resources.table,
            Key={"pk": {"S": f"clerk#alice#{task['id']}"}, "sk": {"S": "head"}},
            UpdateExpression="SET held = :yes, lease_end = :past",
            ExpressionAttributeValues={":yes": {"BOOL": True}, ":past": {"N": "1000"}},
        )
        stage.drain_queue()
        done = stage.get(task["id"])
    assert (task_state(done), echo.runs) == (("completed", 1) if repeatable else ("failed", 0))


def test_cancel_reaches_an_executor_in_the_middle_of_its_work(stage: Stage, echo: EchoExecutor) -> None:
    import threading

    from agentfn.testing import LocalLambdaContext, queue_event

    task = stage.send("sleep", wait=False)
    [message] = stage.receive_messages()
    worker = stage.new_environment()
    thread = threading.Thread(target=lambda: worker(queue_event(message), LocalLambdaContext(60)))
    thread.start()
    while echo.runs == 0:
        time.sleep(0.02)
    stage.cancel(task["id"])
    thread.join(timeout=60)
    assert not thread.is_alive()
    assert echo.cancelled
    assert task_state(stage.get(task["id"])) == "canceled"
