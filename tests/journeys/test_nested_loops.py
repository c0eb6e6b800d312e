"""Several loops in one task: an agent's own `handle`, and tools that ask the model themselves."""

import asyncio
import json
from collections import Counter
from typing import Any

import pytest

from agentfn import Agent, Context, tool
from agentfn.models import ModelRequest, ModelResponse, ToolCall, Usage
from agentfn.testing import RpcError, ScriptedModel, Stage, calls, pause

DONE: Counter[str] = Counter()
KEYS: list[str] = []


@pytest.fixture(autouse=True)
def fresh() -> None:
    DONE.clear()
    KEYS.clear()


@tool(idempotent=True)
def find(what: str, context: Context) -> str:
    """Finds."""
    DONE[f"find {what}"] += 1
    KEYS.append(context.idempotency_key)
    return f"found {what}"


@tool
def write(text: str, context: Context) -> str:
    """Writes."""
    DONE[f"write {text}"] += 1
    KEYS.append(context.idempotency_key)
    return "written"


@tool(requires_approval=True)
def send(text: str) -> str:
    """Sends."""
    DONE[f"send {text}"] += 1
    return "sent"


class Planner(Agent):
    name = "planner"
    description = "Plans, does, verifies."
    tools = (find, write, send)

    async def handle(self, task: Any) -> Any:
        yield task.progress("Planning.")
        plan = await task.run_nested("plan", task.message, instructions="Plan it.", tools=["find"])
        yield task.progress("Doing.")
        parts = await asyncio.gather(
            *(
                task.run_nested(f"do {part}", part, instructions="Do it.", tools=["write", "send"])
                for part in plan.text.split()
            )
        )
        verdict = await task.run_nested("verify", " ".join(part.text for part in parts), instructions="Verify it.")
        yield task.completed(f"{verdict.text} ({verdict.status})")


def state_of(task: Any) -> str:
    return str(task["status"]["state"]).removeprefix("TASK_STATE_").lower()


def text_of(task: Any) -> str:
    return str(task["status"]["message"]["parts"][0]["text"])


def by_phase(asked: list[str], **phases: Any) -> ScriptedModel:
    """A model that answers by the phase's instructions and the number of results it has been shown."""

    def answer(prompt: ModelRequest) -> Any:
        phase = prompt.system.split()[0].lower()
        asked.append(f"{phase} {prompt.turns[0].text}")
        script = phases[phase]
        line = script[sum(turn.role == "assistant" for turn in prompt.turns)]
        return line(prompt) if callable(line) else line

    return ScriptedModel.from_function(answer)


def test_each_phase_has_its_own_prompt_and_tools_and_the_task_one_result() -> None:
    asked: list[str] = []
    model = by_phase(
        asked,
        plan=[calls("find", what="x"), ModelResponse("a b", usage=Usage(10, 1))],
        do=[lambda prompt: calls("write", text=prompt.turns[0].text), ModelResponse("ok", usage=Usage(20, 2))],
        verify=["All is well."],
    )
    with Stage(Planner(), model) as stage:
        task = stage.send("Go!")
    assert (state_of(task), text_of(task)) == ("completed", "All is well. (completed)")
    assert DONE == {"find x": 1, "write a": 1, "write b": 1}
    assert Counter(asked) == {"plan Go!": 2, "do a": 2, "do b": 2, "verify ok ok": 1}
    tools = {prompt.system: [item["function"]["name"] for item in prompt.tools] for prompt in model.requests}
    assert tools["Plan it."][0] == "find"
    assert tools["Do it."][:2] == ["write", "send"]
    assert tools["Verify it."] == []
    assert task["metadata"]["agentfn"]["usage"]["prompt"] == 50
    assert len(set(KEYS)) == 3  # the calls of two loops have the same id, and are not the same call


@pytest.mark.usefixtures("no_waiting")
def test_a_phase_that_is_finished_is_not_run_again_and_one_that_is_not_goes_on() -> None:
    asked: list[str] = []
    slow = [True]

    async def verify(_: ModelRequest) -> str:
        await asyncio.sleep(30 if slow.pop() else 0)
        return "All is well."

    model = by_phase(
        asked,
        plan=[calls("find", what="x"), "a b"],
        do=[lambda prompt: calls("write", text=prompt.turns[0].text), "ok"],
        verify=[verify],
    )
    with Stage(Planner(), model, reserve_seconds=0.5) as stage:
        task = stage.send("Go!", seconds=20)
        assert state_of(task) == "working"
        slow.append(False)
        stage.drain_queue()
        task = stage.get(task["id"])
    assert text_of(task) == "All is well. (completed)"
    assert DONE == {"find x": 1, "write a": 1, "write b": 1}
    assert Counter(asked) == {"plan Go!": 2, "do a": 2, "do b": 2, "verify ok ok": 2}


@pytest.mark.usefixtures("no_waiting")
def test_loops_that_play_side_by_side_go_on_side_by_side_in_another_run() -> None:
    """One is done, one is in the middle, one has not begun."""
    asked: list[str] = []
    held = {"b": 30.0, "c": 30.0}

    async def part(prompt: ModelRequest) -> Any:
        name = prompt.turns[0].text
        await asyncio.sleep(held.get(name, 0.0))
        return ModelResponse(
            tool_calls=(ToolCall("", "write", json.dumps({"text": name})),), finish_reason="tool_calls"
        )

    model = by_phase(asked, plan=["a b c"], do=[part, "ok"], verify=["All is well."])
    with Stage(Planner(), model, max_parallel_loops=2, reserve_seconds=0.5) as stage:
        task = stage.send("Go!", seconds=20)
        assert (state_of(task), dict(DONE)) == ("working", {"write a": 1})
        held.clear()
        stage.drain_queue()
        task = stage.get(task["id"])
    assert state_of(task) == "completed"
    assert DONE == {"write a": 1, "write b": 1, "write c": 1}
    assert asked.count("plan Go!") == 1
    assert asked.count("do a") == 2


def test_what_a_phase_asks_the_user_is_answered_to_that_phase() -> None:
    asked: list[str] = []
    model = by_phase(
        asked,
        plan=["a b"],
        do=[
            lambda prompt: calls("ask_user", question=f"Which {prompt.turns[0].text}?"),
            lambda prompt: f"the {prompt.turns[-1].text} {prompt.turns[0].text}",
        ],
        verify=[lambda prompt: prompt.turns[0].text],
    )
    with Stage(Planner(), model) as stage:
        task = stage.send("Go!")
        questions = []
        for answer in ("red", "green"):
            questions.append((state_of(task), text_of(task)))
            task = stage.send(answer, taskId=task["id"])
    assert sorted(questions) == [("input_required", "Which a?"), ("input_required", "Which b?")]
    words = {question[-2]: answer for (_, question), answer in zip(questions, ("red", "green"), strict=True)}
    assert text_of(task) == f"the {words['a']} a the {words['b']} b (completed)"
    assert asked.count("plan Go!") == 1


def test_a_phase_asks_for_approval_and_goes_on_with_the_answer() -> None:
    asked: list[str] = []
    model = by_phase(
        asked, plan=["a"], do=[calls("send", text="a"), "sent it"], verify=[lambda prompt: prompt.turns[0].text]
    )
    with Stage(Planner(), model) as stage:
        task = stage.send("Go!")
        assert state_of(task) == "input_required"
        assert task["metadata"]["agentfn"]["approval"] == {"tool": "send", "arguments": '{"text": "a"}'}
        assert DONE == {}
        task = stage.send("yes", taskId=task["id"])
    assert (text_of(task), dict(DONE)) == ("sent it (completed)", {"send a": 1})


def test_limits_of_tokens_hold_for_all_phases_together() -> None:
    model = by_phase(
        [],
        plan=[ModelResponse("a", usage=Usage(1_000, 0))],
        do=[
            ModelResponse(tool_calls=(ToolCall("", "write", '{"text": "x"}'),), usage=Usage(1_000, 0)),
            "As far as I got.",
        ],
        verify=["So."],
    )
    with Stage(Planner(), model, max_tokens=1_500) as stage:
        assert state_of(stage.send("Go!")) == "completed"
    assert ["reached" in prompt.turns[-1].text for prompt in model.requests] == [False, False, True, True]


def test_a_phase_that_fails_leaves_it_to_the_agent_what_becomes_of_that() -> None:
    model = by_phase([], plan=["a"], do=[ModelResponse("", finish_reason="content_filter")], verify=["So."])
    with Stage(Planner(), model) as stage:
        task = stage.send("Go!")
    assert state_of(task) == "completed"
    assert "content filter" in model.requests[-1].turns[0].text


@tool(idempotent=True, timeout_seconds=600)
async def gather_up(parts: list[str], context: Context) -> str:
    """Sums up: asks the model about each part, and then about all of them."""
    DONE["gather_up"] += 1
    async with asyncio.TaskGroup() as group:
        said = [group.create_task(context.run_nested(part, part, instructions="Read it.")) for part in parts]
    return (
        await context.run_nested("all", " ".join(task.result().text for task in said), instructions="Join it.")
    ).text


@pytest.mark.usefixtures("no_waiting")
def test_a_tool_that_asks_the_model_is_called_again_in_another_run_and_asks_nothing_twice() -> None:
    asked: list[str] = []
    held = {"b": 30.0}

    async def read(prompt: ModelRequest) -> str:
        await asyncio.sleep(held.get(prompt.turns[0].text, 0.0))
        return prompt.turns[0].text.upper()

    model = by_phase(
        asked,
        it=[calls("gather_up", parts=["a", "b", "c"]), lambda prompt: f"Read: {prompt.turns[-1].text}"],
        read=[read],
        join=[lambda prompt: prompt.turns[0].text.replace(" ", "+")],
    )
    with Stage(Agent(name="mapper", description="Maps.", tools=[gather_up], instructions="It maps."), model) as stage:
        task = stage.send("Go!", seconds=20)
        assert state_of(task) == "working"
        held.clear()
        stage.drain_queue()
        task = stage.get(task["id"])
    assert text_of(task) == "Read: A+B+C"
    assert DONE["gather_up"] == 2
    assert Counter(asked) == {"it Go!": 2, "read a": 1, "read b": 2, "read c": 1, "join A B C": 1}


def test_two_loops_of_one_name_are_refused() -> None:
    class Twin(Agent):
        name = "twin"
        description = "Confuses."

        async def handle(self, task: Any) -> Any:
            await asyncio.gather(task.run_nested("same", "1"), task.run_nested("same", "2"))
            yield task.completed("never")

    with Stage(Twin(), ScriptedModel(pause(0.2), "a", "b")) as stage:
        task = stage.send("Go!")
    assert state_of(task) == "failed"
    assert "'same'" in text_of(task)


def test_an_agent_that_yields_no_end_fails_with_its_name() -> None:
    class Vague(Agent):
        name = "vague"
        description = "Ends in nothing."

        async def handle(self, task: Any) -> Any:
            yield task.progress("Hm.")

    with Stage(Vague(), ScriptedModel()) as stage:
        task = stage.send("Go!")
    assert (state_of(task), text_of(task)) == ("failed", "agent vague ended its work without a result")


def test_a_tool_of_another_agent_is_not_there_for_a_phase() -> None:
    class Odd(Agent):
        name = "odd"
        description = "Wants what it has not."

        async def handle(self, task: Any) -> Any:
            yield task.completed((await task.run_nested("x", "1", tools=["fly"])).text)

    with Stage(Odd(), ScriptedModel()) as stage:
        task = stage.send("Go!")
    assert state_of(task) == "failed"
    assert "fly" in text_of(task)
    with Stage(Odd(), ScriptedModel()) as stage, pytest.raises(RpcError):
        stage.get("none")
