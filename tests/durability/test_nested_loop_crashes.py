"""Crashes in a task with nested loops: finished loops are not repeated."""

import asyncio
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from agentfn import Agent, Context, tool
from agentfn.models import ModelRequest
from agentfn.testing import ScriptedModel, Stage, calls
from durability.crash_injection import CrashableStage, CrashTiming

pytestmark = pytest.mark.slow

WRITES = 10  # insurance and task; the plan; two loops of a call, a result and an answer each; the end
DONE: Counter[str] = Counter()


@tool
def write(text: str, context: Context) -> str:
    """Writes."""
    DONE[text] += 1
    return "written"


class Author(Agent):
    name = "author"
    description = "Plans, and writes chapters side by side."
    tools = (write,)

    async def handle(self, task: Any) -> Any:
        plan = await task.run_nested("plan", task.message, instructions="plan")
        chapters = await asyncio.gather(
            *(task.run_nested(chapter, chapter, instructions="write", tools=["write"]) for chapter in plan.text.split())
        )
        yield task.completed(" ".join(chapter.text for chapter in chapters))


def answer(prompt: ModelRequest) -> Any:
    if prompt.system == "plan":
        return "a b"
    spoken = any(turn.role == "assistant" for turn in prompt.turns)
    return f"chapter {prompt.turns[0].text}" if spoken else calls("write", text=prompt.turns[0].text)


@pytest.fixture(scope="module")
def model() -> ScriptedModel:
    return ScriptedModel.from_function(answer)


@pytest.fixture(scope="module")
def study(model: ScriptedModel) -> Iterator[CrashableStage]:
    with Stage(Author(), model) as stage:
        yield CrashableStage(stage)


@pytest.fixture
def ward(study: CrashableStage, model: ScriptedModel) -> CrashableStage:
    study.reset()
    DONE.clear()
    model.requests.clear()
    return study


def test_a_task_of_three_loops_makes_so_many_calls_of_aws(ward: CrashableStage) -> None:
    ward.invoke(ward.send_event("Go!", wait=True))
    assert len(ward.injector.calls) == WRITES
    assert DONE == {"a": 1, "b": 1}


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("at", range(2, WRITES))
def test_a_loop_that_was_finished_when_the_process_died_is_not_played_again(
    ward: CrashableStage, model: ScriptedModel, at: int, when: CrashTiming
) -> None:
    assert ward.invoke(ward.send_event("Go!", wait=True), at=at, when=when) is None
    body = ward.injector.sent[0]
    ward.purge_queue()
    task = ward.run_until_done(lambda: ward.invoke(ward.queue_event(body)))
    assert task["status"]["message"]["parts"][0]["text"] == "chapter a chapter b"
    assert max(DONE.values(), default=0) <= 1
    assert len(model.requests) <= 5 + 2  # of the loops that play side by side, a turn each may be lost unsaved
