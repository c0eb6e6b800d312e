"""The header Idempotency-Key: the same request, whatever new ids its sender has made for it."""

import json
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from agentfn import Agent
from agentfn.testing import LocalLambdaContext, ScriptedModel, Stage, calls, rpc_event
from agentfn.testing.stage import auth_headers


@pytest.fixture
def model() -> ScriptedModel:
    return ScriptedModel.from_function(lambda prompt: "Done.")


@pytest.fixture
def stage(model: ScriptedModel) -> Iterator[Stage]:
    with Stage(Agent(name="clerk", description="A clerk for tests."), model) as stage:
        yield stage


def event(text: str, message_id: str, key: str | None, caller: str = "alice", **message: Any) -> dict[str, Any]:
    said = {"messageId": message_id, "role": "ROLE_USER", "parts": [{"text": text}], **message}
    headers = {**auth_headers(caller), **({"Idempotency-Key": key} if key is not None else {})}
    return rpc_event("SendMessage", {"message": said}, headers)


def send(stage: Stage, *arguments: Any, **named: Any) -> dict[str, Any]:
    answer: dict[str, Any] = json.loads(stage.handler(event(*arguments, **named), LocalLambdaContext(60))["body"])
    return answer


def task_of(answer: dict[str, Any]) -> str:
    return str(answer["result"]["task"]["id"])


def test_the_same_key_with_a_new_message_id_is_the_same_task(stage: Stage, model: ScriptedModel) -> None:
    first, second = send(stage, "Hi!", "m1", "k1"), send(stage, "Hi!", "m2", "k1")
    assert task_of(first) == task_of(second)
    assert len(model.requests) == 1


def test_the_same_key_for_something_else_is_an_error(stage: Stage, model: ScriptedModel) -> None:
    send(stage, "Hi!", "m1", "k1")
    error = send(stage, "Something else.", "m2", "k1")["error"]
    assert error["code"] == -32602
    assert "Idempotency-Key was used before" in error["message"]
    assert len(model.requests) == 1


def test_another_callers_key_is_his_own(stage: Stage, model: ScriptedModel) -> None:
    first, second = send(stage, "Hi!", "m1", "k1"), send(stage, "Hi!", "m1", "k1", caller="bob")
    assert task_of(first) != task_of(second)
    assert len(model.requests) == 2


def test_a_key_is_no_message_id(stage: Stage) -> None:
    assert task_of(send(stage, "Hi!", "same", None)) != task_of(send(stage, "Hi!", "other", "same"))


def test_the_same_message_id_counts_with_another_key_or_none(stage: Stage, model: ScriptedModel) -> None:
    ids = {task_of(send(stage, "Hi!", "m1", key)) for key in ("k1", "k2", None)}
    assert len(ids) == 1
    assert len(model.requests) == 1


def test_an_answer_to_a_waiting_task_has_its_key_too(stage: Stage, model: ScriptedModel) -> None:
    model._function = lambda prompt: "Done." if len(prompt.turns) > 1 else calls("ask_user", question="Which?")
    task_id = task_of(send(stage, "Hi!", "m1", "k1"))
    answers = [send(stage, "This one.", f"m{number}", "k2", taskId=task_id) for number in (2, 3)]
    assert [task_of(answer) for answer in answers] == [task_id, task_id]
    assert len(model.requests) == 2


def test_an_empty_key_is_none(stage: Stage) -> None:
    assert task_of(send(stage, "Hi!", "m1", "")) != task_of(send(stage, "Hi!", "m2", ""))


def test_a_key_without_end_is_refused(stage: Stage) -> None:
    assert send(stage, "Hi!", "m1", "k" * 300)["error"]["code"] == -32602
    assert stage.table_items() == []


def test_the_same_key_twice_at_once_is_one_task(stage: Stage, model: ScriptedModel) -> None:
    answers: list[Any] = []

    def post(process: Any, message_id: str) -> None:
        answers.append(json.loads(process(event("Hi!", message_id, "k1"), LocalLambdaContext(30))["body"]))

    threads = [threading.Thread(target=post, args=(stage.new_environment(), f"m{number}")) for number in (1, 2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({task_of(answer) for answer in answers}) == 1
    assert len(model.requests) == 1
