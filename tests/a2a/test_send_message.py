"""A message in, an answer out: blocking, not blocking, and when time is short."""

import json
import threading
import time
from typing import Any

import pytest

from agentfn import Agent, File, Output, tool
from agentfn.aws_clients import aws_client
from agentfn.testing import LocalLambdaContext, RpcError, ScriptedModel, Stage, calls, pause, rpc_event
from agentfn.testing.stage import auth_headers
from conftest import SideEffects, status_text, task_state


def test_a_plain_answer_costs_two_table_writes_and_one_queue_message(play: Any) -> None:
    stage = play(ScriptedModel("Hello."))
    task = stage.send("Hi!")
    assert (task_state(task), status_text(task)) == ("completed", "Hello.")
    assert stage.write_count == 2
    assert stage.read_count == 0
    assert stage.aws_calls["SendMessage"] == 1
    assert stage.aws_calls["PutObject"] == 0


def test_a_tool_round_costs_two_more_writes(play: Any) -> None:
    lookup = calls("look_up", city="Paris")
    stage = play(ScriptedModel(lookup, (lookup, calls("now"), calls("book", seat=1)), "Done."))
    stage.send("Hi!")
    assert stage.write_count == 2 + 2 * 2


def test_lifecycle_tools_alone_cost_no_write_of_their_own(play: Any) -> None:
    stage = play(ScriptedModel(calls("report_progress", text="thinking"), calls("finish", text="Done.")))
    task = stage.send("Hi!")
    assert status_text(task) == "Done."
    assert stage.write_count == 2


def test_reading_a_task_is_one_read_and_listing_reads_no_task_twice(play: Any) -> None:
    stage = play(ScriptedModel("Hello."))
    task = stage.send("Hi!")
    stage.aws_calls.clear()
    assert stage.get(task["id"]) == task
    assert (stage.read_count, stage.write_count) == (1, 0)
    assert sum(stage.aws_calls.values()) == 1


NON_BLOCKING = [
    (
        "message/send",
        {"blocking": False},
        {"kind": "message", "role": "user", "parts": [{"kind": "text", "text": "Hi!"}]},
    ),
    ("SendMessage", {"returnImmediately": True}, {"role": "ROLE_USER", "parts": [{"text": "Hi!"}]}),
]


@pytest.mark.parametrize(("method", "configuration", "message"), NON_BLOCKING, ids=["0.3", "1.0"])
def test_a_non_blocking_send_answers_without_the_model(
    play: Any, method: str, configuration: dict[str, Any], message: dict[str, Any]
) -> None:
    model = ScriptedModel("Done at last.")
    stage = play(model)
    params = {"message": {"messageId": "m1", **message}, "configuration": configuration}
    result = stage.rpc(method, params)
    task = result.get("task", result)
    assert task["status"]["state"] in ("submitted", "working", "TASK_STATE_SUBMITTED", "TASK_STATE_WORKING")
    assert model.requests == []
    messages = stage.receive_messages()
    assert len(messages) == stage.aws_calls["SendMessage"] == 1
    assert len(messages[0]["Body"]) < 2_000
    assert "Hi!" not in messages[0]["Body"]
    stage.deliver_message(messages[0])
    assert status_text(stage.get(task["id"])) == "Done at last."


@pytest.mark.usefixtures("no_waiting")
def test_a_blocking_send_that_cannot_finish_answers_with_the_working_task(play: Any) -> None:
    model = ScriptedModel(calls("look_up", city="Paris"), pause(60), "Rain.")
    stage = play(model)
    started = time.monotonic()
    task = stage.send("Weather?", seconds=20)
    assert time.monotonic() - started < 20
    assert task_state(task) == "working"
    [message] = stage.receive_messages()  # the continuation; the insurance is not due yet
    model._script[0] = pause(0)
    stage.deliver_message(message)
    assert status_text(stage.get(task["id"])) == "Rain."


@pytest.mark.usefixtures("no_waiting")
def test_a_task_goes_on_over_many_invocations_and_no_step_is_done_twice(play: Any, ledger: SideEffects) -> None:
    steps: list[Any] = []
    for seat in range(4):
        steps += [pause(12), calls("book", seat=seat)]
    model = ScriptedModel(*steps, "All booked.")
    stage = play(model, reserve_seconds=0.5)
    task = stage.send("Book four seats.", wait=False)
    runs = stage.drain_queue(seconds=30)
    assert runs > 1
    assert status_text(stage.get(task["id"])) == "All booked."
    assert ledger.entries == [f"book {seat}" for seat in range(4)]


def test_the_function_s_timeout_is_never_met_whatever_a_tool_does(play: Any) -> None:
    stage = play(ScriptedModel(calls("sleep", seconds=30), "Slept enough."))
    started = time.monotonic()
    task = stage.send("Sleep!", seconds=20)
    assert 2 <= time.monotonic() - started < 18
    assert status_text(task) == "Slept enough."


def test_a_call_that_was_cut_off_at_the_deadline_is_not_made_again(agent: Agent) -> None:
    """Its effect is there, its result is not: the upload of its receipt was still under way."""
    charged: list[int] = []

    @tool
    def charge(amount: int) -> Output:
        """Charges an amount."""
        charged.append(amount)
        return Output("charged", files=[File("receipt.txt", b"1")])

    over = threading.Event()

    def slow(**_: Any) -> None:
        over.wait(60)

    model = ScriptedModel(calls("charge", amount=7), "Charged, perhaps.")
    with Stage(Agent(name="clerk", description="A clerk.", tools=[charge]), model, reserve_seconds=0.5) as stage:
        aws_client("s3").meta.events.register("before-call.s3.PutObject", slow)
        task = stage.send("Charge!", seconds=5.5)
        over.set()
        assert task_state(task) == "working"
        stage.drain_queue()
        done = stage.get(task["id"])
    assert charged == [7]
    assert task_state(done) == "completed"
    assert "outcome is unknown" in model.requests[-1].turns[-1].text


def test_the_same_message_twice_is_one_task(play: Any) -> None:
    model = ScriptedModel("Once.", "Twice?")
    stage = play(model)
    first, second = (stage.send("Hi!", messageId="m1") for _ in range(2))
    assert first["id"] == second["id"]
    assert len(model.requests) == 1
    with pytest.raises(RpcError, match="was used before"):
        stage.send("Something else.", messageId="m1")
    assert stage.send("Hi!", messageId="m1", caller="bob")["id"] != first["id"]


def test_the_same_message_twice_at_once_is_one_task(play: Any) -> None:
    model = ScriptedModel(pause(0.5), "Once.", "Twice?")
    stage: Stage = play(model)
    event = rpc_event(
        "SendMessage",
        {"message": {"messageId": "m1", "role": "ROLE_USER", "parts": [{"text": "Hi!"}]}},
        auth_headers("alice"),
    )
    answers: list[Any] = []
    threads = [
        threading.Thread(target=lambda handler=handler: answers.append(handler(event, LocalLambdaContext(30))))
        for handler in (stage.new_environment(), stage.new_environment())
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    ids = {json.loads(answer["body"])["result"]["task"]["id"] for answer in answers}
    assert len(ids) == 1
    assert len(model.requests) == 1


def test_two_invocations_in_a_row_share_one_event_loop(play: Any) -> None:
    stage = play(ScriptedModel(pause(0.01), "One.", pause(0.01), "Two."))
    assert [status_text(stage.send(f"{n}")) for n in range(2)] == ["One.", "Two."]


def test_a_question_waits_and_the_answer_goes_on_with_the_same_transcript(play: Any) -> None:
    model = ScriptedModel(calls("ask_user", question="Which city?"), calls("look_up", city="Rome"), "Rain in Rome.")
    stage = play(model)
    task = stage.send("Weather?")
    assert (task_state(task), status_text(task)) == ("input_required", "Which city?")
    stage.aws_calls.clear()
    done = stage.send("Rome.", taskId=task["id"])
    assert (done["id"], done["contextId"], status_text(done)) == (task["id"], task["contextId"], "Rain in Rome.")
    said = [part["text"] for message in done["history"] for part in message["parts"]]
    assert said == ["Weather?", "Which city?", "Rome."]
    assert [turn.role for turn in model.requests[-1].turns] == [
        "user",
        "assistant",
        "tool",
        "user",
        "assistant",
        "tool",
    ]


def test_an_answer_may_be_given_without_waiting(play: Any) -> None:
    stage = play(ScriptedModel(calls("ask_user", question="Which city?"), "Rain in Rome."))
    task = stage.send("Weather?")
    assert task_state(stage.send("Rome.", taskId=task["id"], wait=False)) == "submitted"
    stage.drain_queue()
    assert status_text(stage.get(task["id"])) == "Rain in Rome."


def test_a_follow_up_that_does_not_fit_is_refused(play: Any) -> None:
    stage = play(ScriptedModel(calls("ask_user", question="Which city?"), "Done."))
    waiting = stage.send("Weather?")
    with pytest.raises(RpcError, match="another context") as error:
        stage.send("Rome.", taskId=waiting["id"], contextId="elsewhere")
    assert error.value.code == -32602
    with pytest.raises(RpcError) as error:
        stage.send("Rome.", taskId=waiting["id"], caller="bob")
    assert error.value.code == -32001
    finished = stage.send("Rome.", taskId=waiting["id"])
    with pytest.raises(RpcError, match="start a new task with the same contextId") as error:
        stage.send("And Paris?", taskId=finished["id"])
    assert error.value.code == -32004


def test_another_caller_s_task_is_not_there(play: Any) -> None:
    stage = play(ScriptedModel("Hello."))
    task = stage.send("Hi!")
    for read in (stage.get, stage.cancel):
        with pytest.raises(RpcError) as error:
            read(task["id"], caller="bob")
        assert error.value.code == -32001
    assert stage.rpc("ListTasks", {}, caller="bob")["tasks"] == []


def test_auth_required_and_rejected_are_states_with_words(play: Any) -> None:
    stage = play(
        ScriptedModel(
            calls("request_auth", scheme="oauth2", message="Log in to the archive."),
            calls("reject_task", reason="Not mine."),
        )
    )
    asked = stage.send("Open the archive.")
    assert (task_state(asked), status_text(asked)) == ("auth_required", "Log in to the archive.")
    assert asked["metadata"]["agentfn"]["auth_scheme"] == "oauth2"
    rejected = stage.send("Something else.")
    assert (task_state(rejected), status_text(rejected)) == ("rejected", "Not mine.")
