"""The text of a reply, told while it is produced."""

import asyncio
from collections.abc import Iterable
from typing import Any

import pytest

from agentfn.errors import ModelUnavailable
from agentfn.loop import LoopEvent, LoopFinished, ModelTurn, Notice, TextDelta
from agentfn.loop.agent_loop import AgentLoop
from agentfn.models import ModelRequest, ModelResponse, ToolCall, Turn
from agentfn.testing import ScriptedModel, calls, stream

BROKEN = ModelUnavailable("the stream broke off", retry_after=0.0)


def replayed(events: Iterable[LoopEvent]) -> str:
    """What a reader has on his screen in the end."""
    screen = ""
    for event in events:
        if isinstance(event, TextDelta):
            assert event.offset <= len(screen)
            screen = screen[: event.offset] + event.text
    return screen


def test_text_comes_in_pieces_and_the_turn_after_them(player: Any) -> None:
    events = player.events_of(ScriptedModel(stream("It ", "rains", ".")), stream=True)
    assert [event.kind for event in events] == ["step_started", *["text_delta"] * 3, "model_turn", "final"]
    assert [event.text for event in events if isinstance(event, TextDelta)] == ["It ", "rains", "."]
    assert events[-1].result.text == "It rains."


def test_nothing_comes_in_pieces_unless_asked_for(player: Any) -> None:
    events = player.events_of(ScriptedModel(stream("It ", "rains.")))
    assert [event.kind for event in events] == ["step_started", "model_turn", "final"]
    assert events[-1].result.text == "It rains."


TRIES = {
    "the same again": (["It ", "rai"], ["It ", "rains", "."]),
    "other pieces": (["It rai"], ["I", "t", " ", "r", "ains."]),
    "another text": (["It rai"], ["It ", "snows."]),
    "a shorter text": (["It rains and rains"], ["It rains"]),
    "nothing before": ([], ["It rains."]),
}


@pytest.mark.parametrize(("first", "second"), TRIES.values(), ids=TRIES.keys())
def test_a_stream_that_breaks_is_begun_again_and_tells_nothing_twice(
    player: Any, first: list[str], second: list[str]
) -> None:
    events = player.events_of(ScriptedModel(stream(*first, BROKEN), stream(*second)), stream=True)
    whole = "".join(second)
    assert events[-1].result.text == replayed(events) == whole
    assert [isinstance(event, Notice) for event in events].count(True) == 1
    told = "".join(event.text for event in events if isinstance(event, TextDelta))
    common = len("".join(first)) if whole.startswith("".join(first)) else 0
    assert len(told) <= len("".join(first)) + len(whole) - common


def test_text_and_calls_come_together(player: Any, shop: Any) -> None:
    reply = ModelResponse("Let me look.", (ToolCall("a", "look", '{"at": "x"}'),), finish_reason="tool_calls")
    events = player.events_of(ScriptedModel(reply, "Done."), stream=True)
    assert "".join(event.text for event in events if isinstance(event, TextDelta) and event.step == 1) == "Let me look."
    assert shop.effects == ["look x"]


def test_actions_in_plain_text_are_not_shown(player: Any) -> None:
    model = ScriptedModel('{"tool": "look", "args": {}}', '{"tool": "final_answer", "args": "Done."}')
    events = player.events_of(model, stream=True, tool_protocol="json")
    assert not [event for event in events if isinstance(event, TextDelta)]
    assert events[-1].result.text == "Done."


def test_a_stream_that_ends_without_a_reply_is_asked_for_again(player: Any) -> None:
    class Forgetful(ScriptedModel):
        async def stream(self, prompt: ModelRequest) -> Any:
            async for piece in super().stream(prompt):
                if len(self.requests) > 1 or not isinstance(piece, ModelResponse):
                    yield piece

    events = player.events_of(Forgetful("It rains.", "It rains."), stream=True)
    assert events[-1].result.text == replayed(events) == "It rains."


@pytest.mark.usefixtures("no_waiting")
def test_a_stream_that_stops_is_given_up_when_its_time_is_over(player: Any) -> None:
    class Silent(ScriptedModel):
        async def stream(self, prompt: ModelRequest) -> Any:
            yield "It "
            await asyncio.sleep(60)

    result = player.run(Silent(), stream=True, seconds=20)
    assert (result.status, result.finish_reason) == ("suspended", "out_of_time")


def test_who_stops_listening_closes_the_stream(player: Any) -> None:
    closed = []

    class Watched(ScriptedModel):
        async def stream(self, prompt: ModelRequest) -> Any:
            try:
                yield "It "
                await asyncio.sleep(60)
            finally:
                closed.append(True)

    async def listen() -> None:
        playing = player.make_loop(Watched(), stream=True).run_stream((Turn("user", "hi"),))
        async for event in playing:
            if isinstance(event, TextDelta):
                break
        await playing.aclose()

    asyncio.run(listen())
    assert closed == [True]


def test_each_step_has_a_text_of_its_own(player: Any) -> None:
    first = ModelResponse("One.", (ToolCall("a", "look", "{}"),), finish_reason="tool_calls")
    events = player.events_of(ScriptedModel(first, stream("Tw", "o.")), stream=True)
    assert [(event.step, event.offset) for event in events if isinstance(event, TextDelta)] == [(1, 0), (2, 0), (2, 2)]


def test_a_script_runs_a_loop_in_one_line() -> None:
    loop = AgentLoop(ScriptedModel(calls("ask_user", question="Who?"), "Hello, Ann."), system_prompt="Greet.")
    asked = loop.run_sync("Hi")
    assert (asked.status, str(asked)) == ("input_required", "Who?")
    assert str(loop.run_sync([*asked.transcript, Turn("user", "Ann")])) == "Hello, Ann."


def test_events_of_a_play_end_in_one_final(player: Any) -> None:
    events = player.events_of(ScriptedModel("Done."), stream=True)
    assert [type(event) for event in events if isinstance(event, LoopFinished | ModelTurn)] == [ModelTurn, LoopFinished]
