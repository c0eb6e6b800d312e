"""Crashes at any AWS call: the task ends all the same, and no effect happens twice.

More of it, with stages of their own, in the other modules of this folder.
"""

import asyncio
import itertools
import json
from collections.abc import Iterator
from typing import Any, Literal

import pytest

from agentfn import Agent, tool
from agentfn.models import ModelRequest, Turn
from agentfn.testing import LocalLambdaContext, ScriptedModel, Stage, calls, rpc_event
from agentfn.testing.stage import auth_headers
from conftest import SideEffects, status_text, task_state
from durability.crash_injection import CrashableStage, CrashTiming

pytestmark = pytest.mark.slow

UNKNOWN = "outcome_unknown"


def books_and_looks(prompt: ModelRequest) -> Any:
    """Answers by what the transcript says, so that it does not matter which process asks."""
    if any(turn.role == "assistant" for turn in prompt.turns):
        return "Booked, and it rains."
    return calls("book", seat=1), calls("look_up", city="Rome")


@pytest.fixture(scope="module")
def ledger() -> SideEffects:
    return SideEffects()


@pytest.fixture(scope="module")
def model() -> ScriptedModel:
    return ScriptedModel.from_function(books_and_looks)


@pytest.fixture(scope="module")
def theatre(ledger: SideEffects, model: ScriptedModel) -> Iterator[CrashableStage]:
    """One stage for all stories: what takes time is setting it up."""

    @tool
    def book(seat: int) -> str:
        """Books a seat."""
        ledger.record(f"book {seat}")
        return f"Seat {seat} is booked."

    @tool(idempotent=True)
    def look_up(city: str) -> str:
        """Tells the weather of a city."""
        ledger.record(f"look_up {city}")
        return f"Rain in {city}."

    with Stage(Agent(name="clerk", description="A clerk for tests.", tools=[book, look_up]), model) as stage:
        yield CrashableStage(stage)


@pytest.fixture
def ward(theatre: CrashableStage, ledger: SideEffects, model: ScriptedModel) -> CrashableStage:
    theatre.reset()
    ledger.entries.clear()
    model.requests.clear()
    return theatre


def results(model: ScriptedModel) -> list[Turn]:
    """What the model was shown in the end of its calls."""
    return [turn for turn in model.requests[-1].turns if turn.role == "tool"]


def check_ending(task: dict[str, Any], model: ScriptedModel, ledger: SideEffects) -> None:
    """However it went: one end, one booking at most, and the model knows what it cannot know."""
    assert (task_state(task), status_text(task)) == ("completed", "Booked, and it rains.")
    booking, looking = results(model)
    assert (booking.tool_call_id, looking.tool_call_id) == ("call_1_1", "call_1_2")
    assert looking.text == "Rain in Rome."
    assert ledger.entries.count("look_up Rome") in (1, 2)
    booked = ledger.entries.count("book 1")
    assert booked <= 1
    assert booking.text == "Seat 1 is booked." if UNKNOWN not in booking.text else booked <= 1


BLOCKING = ["SendMessage", *["TransactWriteItems"] * 4]  # insurance; task, model's turn, results, end
SENDING = ["SendMessage", "TransactWriteItems"]
RUNNING = ["Query", "TransactWriteItems", "ChangeMessageVisibility", *["TransactWriteItems"] * 3]
Way = Literal["queue", "sweep"]


def points(operations: list[str]) -> list[tuple[int, CrashTiming]]:
    return list(itertools.product(range(len(operations)), ("before", "after")))


def go_on(ward: CrashableStage, letter: int, way: Way) -> dict[str, Any]:
    """The task in the end, when all that is left is that one message, or not even that."""
    ward.purge_queue()
    body = ward.injector.sent[letter]
    if way == "queue":
        return ward.run_until_done(lambda: ward.invoke(ward.queue_event(body)))
    return ward.run_until_done(lambda: (ward.stage.sweep(), ward.stage.drain_queue()))


def test_the_points_below_are_before_and_after_all_calls_of_aws_that_there_are(ward: CrashableStage) -> None:
    ward.invoke(ward.send_event("Book!", wait=True))
    assert ward.injector.calls == BLOCKING
    ward.invoke(ward.send_event("Book!", wait=False, message_id="m2"))
    assert ward.injector.calls == SENDING
    ward.invoke(ward.queue_event(ward.injector.sent[-1]))
    assert ward.injector.calls == RUNNING


@pytest.mark.parametrize("way", ["queue", "sweep"])
@pytest.mark.parametrize(("at", "when"), points(BLOCKING)[3:])
def test_a_blocking_send_that_dies_once_its_task_is_there_is_taken_up_again(
    ward: CrashableStage, model: ScriptedModel, ledger: SideEffects, at: int, when: CrashTiming, way: Way
) -> None:
    """By its insurance alone, and by the sweep alone."""
    assert ward.invoke(ward.send_event("Book!", wait=True), at=at, when=when) is None
    check_ending(go_on(ward, 0, way), model, ledger)


@pytest.mark.parametrize("wait", [True, False])
@pytest.mark.parametrize(("at", "when"), points(SENDING))
def test_a_send_that_died_can_be_sent_again_and_is_one_task(
    ward: CrashableStage, model: ScriptedModel, ledger: SideEffects, at: int, when: CrashTiming, wait: bool
) -> None:
    """The client knows no more than that there was no answer."""
    assert ward.invoke(ward.send_event("Book!", wait=wait), at=at, when=when) is None
    assert ward.invoke(ward.send_event("Book!", wait=False))["statusCode"] == 200
    for body in list(ward.injector.sent):  # the first one may be for a task that never came to be
        ward.expire_leases()
        ward.invoke(ward.queue_event(body))
    check_ending(ward.only_task(), model, ledger)


@pytest.mark.parametrize("way", ["queue", "sweep"])
@pytest.mark.parametrize(("at", "when"), points(RUNNING))
def test_a_run_of_the_queue_that_dies_is_followed_by_another(
    ward: CrashableStage, model: ScriptedModel, ledger: SideEffects, at: int, when: CrashTiming, way: Way
) -> None:
    ward.invoke(ward.send_event("Book!", wait=False))
    assert ward.invoke(ward.queue_event(ward.injector.sent[0]), at=at, when=when) is None
    check_ending(go_on(ward, 0, way), model, ledger)


@pytest.mark.parametrize(("at", "when"), [(at, when) for at, when in points(RUNNING) if at >= 3])
def test_a_message_that_comes_twice_and_both_runs_die_still_books_once(
    ward: CrashableStage, model: ScriptedModel, ledger: SideEffects, at: int, when: CrashTiming
) -> None:
    ward.invoke(ward.send_event("Book!", wait=False))
    for _ in range(2):
        ward.invoke(ward.queue_event(ward.injector.sent[0]), at=at, when=when)
        ward.expire_leases()
    done = go_on(ward, 0, "queue")
    check_ending(done, model, ledger) if ledger.entries.count("look_up Rome") < 3 else None
    assert ward.invoke(ward.queue_event(ward.injector.sent[0])) == {"batchItemFailures": []}
    assert ward.only_task() == done
    assert ledger.entries.count("book 1") <= 1


@pytest.mark.parametrize(("at", "when"), points(["GetItem", "TransactWriteItems"]))
def test_a_cancel_that_dies_was_made_or_can_be_made_again(
    ward: CrashableStage, model: ScriptedModel, at: int, when: CrashTiming
) -> None:
    """The run that it meets is dead, and its message comes late."""
    ward.invoke(ward.send_event("Book!", wait=False))
    ward.invoke(ward.queue_event(ward.injector.sent[0]), at=3, when="after")  # the model spoke, and no tool ran yet
    cancel = rpc_event("CancelTask", {"id": ward.only_task_id()}, auth_headers("alice"))
    assert ward.invoke(cancel, at=at, when=when) is None
    again = json.loads(ward.invoke(cancel)["body"])
    assert again["error"]["code"] == -32002 if (at, when) == (1, "after") else again["result"]
    ward.expire_leases()
    asked = len(model.requests)
    ward.invoke(ward.queue_event(ward.injector.sent[0]))
    assert ward.stage.sweep() == {"ended": 0, "resumed": 0}
    assert task_state(ward.only_task()) == "canceled"
    assert len(model.requests) == asked


def test_a_run_that_was_frozen_past_its_lease_is_refused_when_it_wakes(
    ward: CrashableStage, model: ScriptedModel, ledger: SideEffects, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The other one that took over has done the work by then."""

    def elsewhere() -> None:
        ward.expire_leases()
        ward.stage.new_environment()(ward.queue_event(ward.injector.sent[0]), LocalLambdaContext(60))

    async def freeze(prompt: ModelRequest) -> Any:
        monkeypatch.setattr(model, "_function", books_and_looks)
        await asyncio.to_thread(elsewhere)
        return calls("book", seat=1)

    monkeypatch.setattr(model, "_function", freeze)
    ward.invoke(ward.send_event("Book!", wait=False))
    assert ward.invoke(ward.queue_event(ward.injector.sent[0])) == {"batchItemFailures": []}
    check_ending(ward.only_task(), model, ledger)
    assert ledger.entries.count("book 1") == 1
    [head] = ward.task_items()
    assert (head["run"]["N"], head["turns"]["N"]) == ("2", "5")


@pytest.mark.parametrize("way", ["queue", "sweep"])
def test_a_task_whose_every_run_dies_ends_failed_and_says_why(
    ward: CrashableStage, model: ScriptedModel, way: Way
) -> None:
    ward.invoke(ward.send_event("Book!", wait=False))
    for _ in range(5):
        ward.invoke(ward.queue_event(ward.injector.sent[0]), at=3)  # before the model's turn is saved
        ward.expire_leases()
    done = go_on(ward, 0, way)
    assert task_state(done) == "failed"
    assert "5 runs in a row ended without finishing a step" in status_text(done)
    assert len(model.requests) == 5
