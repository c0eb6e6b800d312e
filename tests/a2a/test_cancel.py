"""Cancel: a write like any other, seen by whatever run holds the task."""

import asyncio
import threading
import time
from typing import Any

import pytest

from agentfn.models import ModelRequest
from agentfn.testing import LocalLambdaContext, RpcError, ScriptedModel, Stage, calls, pause, queue_event
from conftest import SideEffects, task_state


def in_background(stage: Stage, message: dict[str, Any]) -> threading.Thread:
    """Another execution environment, at work on a message of the queue."""
    worker = stage.new_environment()
    thread = threading.Thread(target=lambda: worker(queue_event(message), LocalLambdaContext(60)))
    thread.start()
    return thread


def wait_until(check: Any, seconds: float = 60.0) -> None:
    end = time.monotonic() + seconds
    while not check():
        assert time.monotonic() < end, "it never came to that"
        time.sleep(0.02)


def test_a_cancelled_task_is_never_asked_about_again(play: Any, ledger: SideEffects) -> None:
    model = ScriptedModel(calls("look_up", city="Rome"), pause(60), "Too late.")
    stage = play(model)
    task = stage.send("Weather?", wait=False)
    [message] = stage.receive_messages()
    thread = in_background(stage, message)
    wait_until(lambda: len(model.requests) == 2)
    started = time.monotonic()
    cancelled = stage.cancel(task["id"])
    thread.join(timeout=60)
    assert not thread.is_alive()
    assert time.monotonic() - started < 20  # one look every 2 s, and the write
    assert task_state(cancelled) == "canceled"
    assert task_state(stage.get(task["id"])) == "canceled"
    assert len(model.requests) == 2
    assert ledger.entries == ["look_up Rome"]


def test_a_result_that_comes_after_the_cancel_is_refused(play: Any) -> None:
    cancelled = threading.Event()

    async def late(_: ModelRequest) -> str:
        while not cancelled.is_set():
            await asyncio.sleep(0.01)
        return "Too late."

    model = ScriptedModel(late)
    stage = play(model)
    task = stage.send("Weather?", wait=False)
    [message] = stage.receive_messages()
    thread = in_background(stage, message)
    wait_until(lambda: len(model.requests) == 1)
    stage.cancel(task["id"])
    cancelled.set()
    thread.join(timeout=60)
    kept = stage.get(task["id"])
    assert task_state(kept) == "canceled"
    assert "Too late." not in str(kept)


def test_cancel_before_any_run_makes_the_continuation_a_no_op(play: Any) -> None:
    model = ScriptedModel("Never said.")
    stage = play(model)
    task = stage.send("Hi!", wait=False)
    stage.cancel(task["id"])
    assert stage.drain_queue() == 1
    assert model.requests == []
    assert task_state(stage.get(task["id"])) == "canceled"


def test_a_waiting_task_can_be_cancelled(play: Any) -> None:
    stage = play(ScriptedModel(calls("ask_user", question="Which?")))
    task = stage.send("Weather?")
    assert task_state(stage.cancel(task["id"])) == "canceled"


def test_a_second_cancel_and_an_unknown_task_have_errors_of_their_own(play: Any) -> None:
    stage = play(ScriptedModel("Done."))
    task = stage.send("Hi!", wait=False)
    stage.cancel(task["id"])
    for task_id, code in [(task["id"], -32002), ("unknown", -32001)]:
        with pytest.raises(RpcError) as error:
            stage.cancel(task_id)
        assert error.value.code == code
