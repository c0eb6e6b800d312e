"""Crashes during tool calls: tools with side effects do not run again, idempotent ones do."""

from collections.abc import Iterator
from typing import Any

import pytest

from agentfn import Agent, Context, tool
from agentfn.models import ModelRequest, Turn
from agentfn.testing import ScriptedModel, Stage, calls
from conftest import SideEffects, status_text
from durability.crash_injection import CrashableStage

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def ledger() -> SideEffects:
    return SideEffects()


@pytest.fixture(scope="module")
def model() -> ScriptedModel:
    return ScriptedModel.from_function(lambda prompt: "Never asked.")


@pytest.fixture(scope="module")
def theatre(ledger: SideEffects, model: ScriptedModel) -> Iterator[CrashableStage]:
    """Tools that take the process with them, the first time they are called with `deadly`."""
    wards: list[CrashableStage] = []

    def act(entry: str, deadly: bool) -> None:
        ledger.record(entry)
        if deadly and ledger.entries.count(entry) == 1:
            wards[0].injector.crash()

    @tool
    def book(seat: int, context: Context, deadly: bool = False) -> str:
        """Books a seat."""
        act(f"book {seat} {context.idempotency_key.rsplit(':', 1)[-1]}", deadly)
        return f"Seat {seat} is booked."

    @tool(idempotent=True)
    async def look_up(city: str, deadly: bool = False) -> str:
        """Tells the weather of a city."""
        act(f"look_up {city}", deadly)
        return f"Rain in {city}."

    agent = Agent(name="clerk", description="A clerk for tests.", tools=[book, look_up])
    with Stage(agent, model) as stage:
        wards.append(CrashableStage(stage))
        yield wards[0]


@pytest.fixture
def ward(theatre: CrashableStage, ledger: SideEffects, model: ScriptedModel) -> CrashableStage:
    theatre.reset()
    ledger.entries.clear()
    model.requests.clear()
    return theatre


def plays(model: ScriptedModel, *turns: Any) -> None:
    def answer(prompt: ModelRequest) -> Any:
        return (*turns, "Done.")[sum(turn.role == "assistant" for turn in prompt.turns)]

    model._function = answer


def told(model: ScriptedModel) -> dict[str, str]:
    """What the model was shown in the end, by call."""
    return {turn.tool_call_id: turn.text for turn in model.requests[-1].turns if turn.role == "tool"}


@pytest.mark.parametrize("wait", [True, False])
def test_a_tool_with_effects_is_not_called_again_and_the_model_is_told_which_call_is_in_doubt(
    ward: CrashableStage, model: ScriptedModel, ledger: SideEffects, wait: bool
) -> None:
    plays(model, calls("look_up", city="Rome"), (calls("look_up", city="Oslo"), calls("book", seat=7, deadly=True)))
    answer = ward.invoke(ward.send_event("Book!", wait=wait))
    if wait:
        assert answer is None
    else:
        assert ward.invoke(ward.queue_event(ward.injector.sent[0])) is None
    task = ward.run_until_done(lambda: ward.invoke(ward.queue_event(ward.injector.sent[0])))
    assert status_text(task) == "Done."
    assert ledger.entries.count("book 7 call_2_2") == 1
    assert ledger.entries.count("look_up Rome") == 1
    assert ledger.entries.count("look_up Oslo") == 2
    results = told(model)
    assert list(results) == ["call_1_1", "call_2_1", "call_2_2"]
    assert (results["call_1_1"], results["call_2_1"]) == ("Rain in Rome.", "Rain in Oslo.")
    assert "outcome_unknown" in results["call_2_2"]
    assert "may have taken effect" in results["call_2_2"]


def test_a_tool_without_effects_is_called_again(
    ward: CrashableStage, model: ScriptedModel, ledger: SideEffects
) -> None:
    plays(model, calls("look_up", city="Rome", deadly=True))
    assert ward.invoke(ward.send_event("Weather?", wait=True)) is None
    ward.run_until_done(lambda: ward.invoke(ward.queue_event(ward.injector.sent[0])))
    assert ledger.entries == ["look_up Rome", "look_up Rome"]
    assert told(model) == {"call_1_1": "Rain in Rome."}


def test_a_call_made_after_the_doubt_is_a_call_like_any_other(
    ward: CrashableStage, model: ScriptedModel, ledger: SideEffects
) -> None:
    """The model may decide that it does it again: that is its own call, with a key of its own."""
    plays(model, calls("book", seat=7, deadly=True), calls("book", seat=7))
    assert ward.invoke(ward.send_event("Book!", wait=True)) is None
    ward.run_until_done(lambda: ward.invoke(ward.queue_event(ward.injector.sent[0])))
    assert ledger.entries == ["book 7 call_1_1", "book 7 call_2_1"]
    assert told(model)["call_2_1"] == "Seat 7 is booked."


def test_every_call_has_one_result_and_all_stand_behind_their_turn(
    ward: CrashableStage, model: ScriptedModel, ledger: SideEffects
) -> None:
    """Models refuse a transcript in which a result is missing, doubled, or out of place."""
    deadly = calls("book", seat=3, deadly=True)
    plays(model, (calls("book", seat=1), deadly, calls("look_up", city="Rome")), (calls("book", seat=4),))
    assert ward.invoke(ward.send_event("Book!", wait=True)) is None
    ward.run_until_done(lambda: ward.invoke(ward.queue_event(ward.injector.sent[0])))
    turns: tuple[Turn, ...] = model.requests[-1].turns
    assert [turn.role for turn in turns] == ["user", "assistant", *["tool"] * 3, "assistant", "tool"]
    assert [turn.tool_call_id for turn in turns[2:5]] == [call.id for call in turns[1].tool_calls]
    assert all(turn.text for turn in turns[2:5])
