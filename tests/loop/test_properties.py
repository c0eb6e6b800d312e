"""Whatever a model says, in any order, in either protocol and within any limits: the loop ends as it should."""

import asyncio
import copy
import dataclasses
import itertools
import json
import pickle
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import aclosing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentfn import Context, Deadline, tool
from agentfn.errors import ContextWindowExceeded, ModelRequestRejected, ModelUnavailable
from agentfn.loop import LoopEvent, LoopFinished, LoopLimits, LoopResult, LoopStatus, ModelTurn, TextDelta
from agentfn.loop.transcript import order_turns, pending_calls
from agentfn.models import ModelResponse, ToolCall, Turn, Usage
from agentfn.testing import ScriptedModel, calls
from agentfn.testing.scripted_model import ScriptedAnswer
from agentfn.tools import ToolRegistry
from agentfn.tools.execution import ToolLimits
from loop.bad_models import ODD_ARGUMENTS, ODD_IDS, ODD_NAMES, ODD_TEXTS, endless_model, json_action
from loop.loop_harness import (
    HELLO,
    LoopHarness,
    MemoryWorkspace,
    TracingTools,
    check_events,
    check_request,
    check_transcript,
)

pytestmark = pytest.mark.slow

GOOD = [calls("look", at="a"), calls("look", at="b"), calls("book", seat=1), calls("book", seat=2), calls("draw")]
ASKING = [calls("pay", seat=1), calls("pay", seat=2), calls("pay", seat="x")]
LIFECYCLE = [
    calls("finish", text="Done."),
    calls("finish", text=" "),
    calls("finish", text="Done.", files=["a.svg"]),
    calls("finish", text="Done.", files=["none.svg"]),
    calls("finish", text="Done.", more=1),
    calls("ask_user", question="Which?"),
    calls("ask_user", question=""),
    calls("reject_task", reason="No."),
    calls("request_auth", scheme="oauth2", message="Who are you?"),
    calls("report_progress", text="On it."),
]
AWAY = [
    ModelUnavailable("away", retry_after=0.0),
    ModelUnavailable("away for long", retry_after=400.0),
    ModelRequestRejected("no such model"),
    ContextWindowExceeded("too long"),
]
VERDICTS = ["yes", "no", "Why?", '{"seat": 3}', '{"seat": "x"}', '{"approved": true, "arguments": {"seat": 4}}', "[]"]
WORDS = ["", " ", "Done.", "I see.", *ODD_TEXTS]

odd_calls = st.builds(
    ToolCall,
    st.sampled_from(ODD_IDS),
    st.sampled_from([*ODD_NAMES, "", "look", "book", "pay", "finish", "ask_user"]),
    st.sampled_from(ODD_ARGUMENTS),
)
any_calls = st.sampled_from(GOOD * 3 + ASKING + LIFECYCLE) | odd_calls
usages = st.sampled_from([Usage(), Usage(10, 1), Usage(10, 1, 5, 0.1)])
finishes = st.sampled_from(["stop", "stop", "tool_calls", "length", "content_filter"])
native_replies: st.SearchStrategy[ScriptedAnswer] = st.builds(
    ModelResponse, st.sampled_from(WORDS), st.lists(any_calls, max_size=4).map(tuple), usages, finishes
)
actions: st.SearchStrategy[ScriptedAnswer] = st.builds(
    lambda call, before, thought, usage, finish: ModelResponse(
        before + json_action(call.name, call.arguments, thought), (), usage, finish
    ),
    any_calls,
    st.sampled_from(["", "So: ", "```json\n", "はい。", "{x} "]),
    st.sampled_from(WORDS),
    usages,
    finishes,
)
finals: st.SearchStrategy[ScriptedAnswer] = st.sampled_from(
    [
        ModelResponse(json_action("final_answer", args))
        for args in ('{"text": "Done."}', '"Done."', '{"text": "\\ud83d"}', "{}")
    ]
)
failures: st.SearchStrategy[ScriptedAnswer] = st.sampled_from(AWAY)


class Bench(TracingTools):
    """A workshop that also says in `booked` which calls took effect, and has a tool that needs the user's word."""

    def __init__(self) -> None:
        super().__init__()
        self.booked: list[str] = []
        self.tools = ToolRegistry(
            [
                self._look(),
                self._booking("book"),
                self._booking("pay", requires_approval=True),
                self._draw(),
                self._give(),
            ]
        )

    def _booking(self, name: str, *, requires_approval: bool = False) -> Any:
        def book(seat: int, context: Context) -> str:
            """Books, and once is enough."""
            self.booked.append(context.call_id)
            return f"booked {seat}"

        book.__name__ = name
        return tool(requires_approval=requires_approval)(book)


@dataclass(frozen=True)
class Story:
    """What the model says, over and over from the start; what the user says when he is asked; and how it is played.

    After so many `questions` the time of a run is over, but for what is kept for a closing call.
    """

    script: tuple[ScriptedAnswer, ...]
    verdicts: tuple[str, ...]
    protocol: str
    stream: bool
    suspends: bool
    questions: int
    limits: LoopLimits

    def play(self) -> "Play":
        bench = Bench()
        return Play(self, bench, endless_model(itertools.cycle(self.script)), MemoryWorkspace(Path()))


limits = st.builds(
    LoopLimits,
    max_steps=st.integers(1, 6),
    max_total_tokens=st.sampled_from([None, None, 1, 40]),
    max_history_chars=st.sampled_from([1, 300, 400_000]),
    max_repeats=st.integers(1, 4),
    tools=st.builds(ToolLimits, max_parallel_calls=st.integers(1, 3), max_output_chars=st.sampled_from([5, 30_000])),
)


@st.composite
def stories(draw: st.DrawFn) -> Story:
    protocol = draw(st.sampled_from(["native", "json"]))
    said = native_replies if protocol == "native" else actions | actions | finals | native_replies
    return Story(
        tuple(draw(st.lists(said | said | said | failures, min_size=1, max_size=6))),
        tuple(draw(st.lists(st.sampled_from(VERDICTS), max_size=3))),
        protocol,
        draw(st.booleans()),
        draw(st.booleans()),
        draw(st.sampled_from([1, 2, 4, 100])),
        draw(limits),
    )


@dataclass(frozen=True)
class Play:
    """One story while it is played, in as many runs as it takes."""

    story: Story
    bench: Bench
    model: ScriptedModel
    desk: MemoryWorkspace

    async def once(
        self, turns: Sequence[Turn], *, stop: int | None = None, interrupted: bool = False
    ) -> list[LoopEvent]:
        """One run, which dies after event number `stop`."""
        loop = LoopHarness(self.desk, self.bench).make_loop(
            self.model,
            tool_protocol=self.story.protocol,
            stream=self.story.stream,
            can_suspend=self.story.suspends,
            deadline=self.deadline(),
        )
        loop = dataclasses.replace(loop, limits=self.story.limits)
        events = []
        async with aclosing(loop.run_stream(turns, interrupted=interrupted)) as playing:
            async for event in playing:
                events.append(event)
                if len(events) == stop:
                    break
        return events

    def deadline(self) -> Deadline:
        over = self.model.played_count + self.story.questions
        late = 99.5 if self.story.suspends else 85.0
        return Deadline(100.0, lambda: late if self.model.played_count >= over else 0.0)

    async def to_the_end(self, turns: Sequence[Turn], *, interrupted: bool = False) -> LoopResult:
        """Runs until nothing is left that would go on, or that the user would say."""
        verdicts = iter(self.story.verdicts)
        for _ in range(5):
            events = await self.once(turns, interrupted=interrupted)
            interrupted = False
            result = self.checked(turns, events)
            turns = result.transcript
            if result.status in ("input_required", "auth_required"):
                word = next(verdicts, None)
                if word is None:
                    break
                turns = (*turns, Turn("user", word))
            elif result.status != "suspended":
                break
        return result

    def checked(self, turns: Sequence[Turn], events: Sequence[LoopEvent]) -> LoopResult:
        check_events(events)
        final = events[-1]
        assert isinstance(final, LoopFinished)
        check_result(final.result, self.story)
        told = order_turns([*turns, *(turn for event in events for turn in event.turns)])
        assert list(final.result.transcript) == told
        check_texts(events)
        while self.model.requests:
            prompt = self.model.requests.pop()
            check_request(prompt)
            if self.story.protocol == "json":  # templates of local models want it so
                assert all(one.role != other.role for one, other in itertools.pairwise(prompt.turns))
        assert [times for times in Counter(self.bench.booked).values() if times > 1] == []
        return final.result


def check_result(result: LoopResult, story: Story) -> None:
    assert result.status in get_args(LoopStatus)
    assert result.text.strip() or result.status == "suspended"
    assert story.suspends or result.status != "suspended"
    assert result.total_steps <= story.limits.max_steps + 1
    assert pickle.loads(pickle.dumps(result)) == copy.deepcopy(result) == result
    sent = [result.to_json(), *(turn.to_json() for turn in result.transcript)]
    json.dumps(sent, ensure_ascii=False, allow_nan=False).encode()  # halves of characters cannot be sent
    waiting = len(pending_calls(result.transcript))
    assert not waiting or result.status == "suspended" or result.finish_reason == "approval"
    check_transcript(without_verdicts(result.transcript, waiting))


def without_verdicts(turns: Sequence[Turn], waiting: int) -> list[Turn]:
    """The transcript as the model is shown it; a last turn of which calls wait is left out."""
    spoken = [place for place, turn in enumerate(turns) if turn.role == "assistant"]
    whole = turns[: spoken[-1]] if waiting else turns
    return [turn for turn in whole if turn.role != "user" or not turn.tool_call_id]


def check_texts(events: Iterable[LoopEvent]) -> None:
    """What was told in pieces is, when the turn is told, the turn's text."""
    screen, pieces = "", 0
    for event in events:
        if isinstance(event, TextDelta):
            assert event.offset <= len(screen)
            screen, pieces = screen[: event.offset] + event.text, pieces + 1
        if isinstance(event, ModelTurn):
            assert not screen.strip() or screen == event.turn.text
            screen = ""


def kept(turns: Sequence[Turn], events: Sequence[LoopEvent]) -> list[Turn]:
    """What a journal holds that saves when it must and never before."""
    last = max((place for place, event in enumerate(events, 1) if event.urgent), default=0)
    return [*turns, *(turn for event in events[:last] for turn in event.turns)]


@contextmanager
def no_pauses() -> Iterator[None]:
    sleep = asyncio.sleep

    async def at_once(seconds: float, result: Any = None) -> Any:
        return await sleep(0, result)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("asyncio.sleep", at_once)
        yield


@settings(max_examples=150)
@given(stories())
def test_whatever_a_model_says_the_loop_ends_within_its_limits_and_in_words(story: Story) -> None:
    with no_pauses():
        asyncio.run(story.play().to_the_end([HELLO]))


@settings(max_examples=100)
@given(stories(), st.integers(1, 30))
def test_a_run_that_dies_anywhere_is_gone_on_with_and_no_call_takes_effect_twice(story: Story, stop: int) -> None:
    async def die_and_go_on() -> None:
        play = story.play()
        events = await play.once([HELLO], stop=stop)
        await play.to_the_end(kept([HELLO], events), interrupted=True)

    with no_pauses():
        asyncio.run(die_and_go_on())
