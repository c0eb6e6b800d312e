"""Property test: a request built from any transcript follows its provider's rules."""

import asyncio
import itertools
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agentfn.models import ModelRequest, Sampling, ToolCall, Turn
from provider_stubs.clients import LOOK_TOOL, make_model
from provider_stubs.script import Dialect, says
from provider_stubs.server import StubProvider

TEXTS = st.sampled_from(["", " \n", "Look.", "é\u0000\u2028", "(empty)", "x" * 300])
NAMES = st.sampled_from(["look", "look at, please!", "", "x" * 100])
RAW = st.sampled_from(["", "{}", '{"at": "a"}', "[1]", "null", '{"at": NaN}', '{"at": "Par', "[" * 3_000])
IDS = st.sampled_from(["c1", "", "a b", "x" * 90, "c1__thought__" + "y" * 90])
THOUGHT = {"type": "thinking", "thinking": "Hm.", "signature": "s"}
REDACTED = {"type": "redacted_thinking", "data": "cmVk"}
THOUGHTS = st.sampled_from([(), (THOUGHT,), (THOUGHT, REDACTED)])


@st.composite
def exchanges(draw: st.DrawFn) -> list[Turn]:
    """What the user says, what the model answers, and the results of its calls: complete, as the loop keeps them."""
    turns = [Turn("user", draw(TEXTS)) for _ in range(draw(st.integers(0, 2)))]
    made = draw(st.lists(st.tuples(IDS, NAMES, RAW), max_size=3, unique_by=lambda call: call[0]))
    calls = tuple(ToolCall(*call) for call in made)
    turns.append(Turn("assistant", draw(TEXTS), calls, thinking=draw(THOUGHTS)))
    return [*turns, *(Turn("tool", draw(TEXTS), tool_call_id=call.id, tool_name=call.name) for call in calls)]


@st.composite
def prompts(draw: st.DrawFn) -> ModelRequest:
    turns = itertools.chain.from_iterable(draw(st.lists(exchanges(), max_size=3)))
    options = {
        "tools": draw(st.sampled_from([(), (LOOK_TOOL,)])),
        "tool_choice": draw(st.sampled_from(["auto", "required", "none"])),
        "sampling": draw(st.sampled_from([Sampling(), Sampling(temperature=0.5, max_tokens=9, stop=("END",))])),
    }
    return ModelRequest(draw(TEXTS), (*turns, Turn("user", draw(TEXTS))), **options)


@pytest.fixture(scope="module")
def listening() -> Iterator[StubProvider]:
    with StubProvider() as provider:
        yield provider


@pytest.mark.parametrize("dialect", ["openai", "bedrock"])
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(prompt=prompts())
def test_no_transcript_is_refused(
    dialect: Dialect, prompt: ModelRequest, listening: StubProvider, loop: asyncio.AbstractEventLoop
) -> None:
    listening.play(says("Yes."))

    assert loop.run_until_complete(make_model(dialect, listening, client="direct").generate(prompt)).text == "Yes."
    assert listening.refusals == []
