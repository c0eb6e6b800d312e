"""Which skill does a task: the one that its message names, else the one that a model picks, else the default."""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from typing import Any

import pytest
from a2a.server.agent_execution import AgentExecutor, RequestContext
from a2a.server.events.event_queue import EventQueue

from agentfn import Agent, Skill
from agentfn.errors import ModelRequestRejected, ModelUnavailable
from agentfn.models import ModelResponse, Usage
from agentfn.runs.skill_router import parse_skill_id
from agentfn.testing import RpcError, ScriptedModel, Stage, calls, pause
from conftest import status_text, task_state
from durability.crash_injection import CrashableStage
from loop.loop_harness import check_request
from provider_stubs.clients import API_KEY
from provider_stubs.server import StubProvider, says

CHART = Skill("chart", "Charts", "Draws a chart of a table.")
SUMS = Skill("sums", "Sums", "Adds up the numbers of a table.")


class Desk(Agent):
    """Says which skill it was given, and then what its model says."""

    name = "desk"
    description = "A desk for tests."
    skills: Sequence[Skill] = (CHART, SUMS)

    async def execute_skill(self, skill_id: str, message: str, task: Any) -> Any:
        assert skill_id == task.skill
        async for event in task.run_stream(instructions=f"skill: {skill_id or 'default'}"):
            yield event


class Staging:
    """Stages on which a router is one of the agent's own models."""

    def __init__(self, stack: ExitStack) -> None:
        self._stack = stack

    def __call__(self, model: ScriptedModel, router: ScriptedModel | None, **settings: Any) -> Stage:
        agent = Desk(models={"small": lambda: router})
        chosen = {"router_llm_model": "small"} if router is not None else {}
        return self._stack.enter_context(Stage(agent, model, **{**chosen, **settings}))


@pytest.fixture
def staged() -> Iterator[Staging]:
    with ExitStack() as stack:
        yield Staging(stack)


def skills_of(model: ScriptedModel) -> list[str]:
    for prompt in model.requests:
        check_request(prompt)
    return [prompt.system.removeprefix("skill: ") for prompt in model.requests]


def test_a_message_that_names_no_skill_gets_the_one_that_the_router_picks(staged: Staging) -> None:
    model, router = ScriptedModel("Drawn."), ScriptedModel("chart")
    task = staged(model, router).send("Sales by month, please.")
    assert (status_text(task), skills_of(model)) == ("Drawn.", ["chart"])
    [asked] = router.requests
    check_request(asked)
    assert [turn.text for turn in asked.turns] == ["Sales by month, please."]
    assert "- chart: Charts. Draws a chart of a table.\n- sums: Sums. Adds up" in asked.system
    assert (asked.tools, asked.sampling.temperature, asked.sampling.max_tokens) == ((), 0.0, 200)
    assert 0 < asked.timeout <= 20


@pytest.mark.parametrize("name", ["skill", "skillId"])
def test_a_message_that_names_its_skill_gets_it_unasked(staged: Staging, name: str) -> None:
    model, router = ScriptedModel("Added."), ScriptedModel()
    stage = staged(model, router)
    stage.send("Sales?", metadata={name: "sums"})
    with pytest.raises(RpcError, match="it has: chart, sums"):
        stage.send("Sales?", metadata={name: "fly"})
    assert (skills_of(model), router.requests) == (["sums"], [])


def test_without_a_router_the_default_does_it(staged: Staging) -> None:
    model = ScriptedModel("Done.")
    stage = staged(model, None)
    stage.send("Sales?")
    assert skills_of(model) == ["default"]
    assert (stage.write_count, stage.read_count) == (2, 0)


def test_an_agent_of_one_skill_has_nothing_to_choose_from() -> None:
    model, router = ScriptedModel("Done."), ScriptedModel()
    with Stage(Desk(skills=(CHART,), models={"small": lambda: router}), model, router_llm_model="small") as stage:
        stage.send("Sales?")
    assert (skills_of(model), router.requests) == (["default"], [])


@pytest.mark.parametrize(
    ("answer", "skill"),
    [
        ("chart", "chart"),
        ('"chart"', "chart"),
        (" `chart`.\n", "chart"),
        ('{"skill": "chart"}', "chart"),
        ("The best skill is **chart-map**, not chart.", "chart-map"),
        ("charts", ""),
        ("none", ""),
        ("", ""),
        ("fly", ""),
        ("a+b (sums)", "a+b"),
    ],
)
def test_an_answer_is_read_for_the_first_id_in_it(answer: str, skill: str) -> None:
    assert parse_skill_id(answer, ["chart", "chart-map", "a+b", "sums"]) == skill


@pytest.mark.parametrize(
    "trouble",
    [
        "I cannot say.",
        ModelResponse("", finish_reason="content_filter"),
        ModelRequestRejected("no such model"),
        ModelUnavailable("overloaded"),
    ],
)
def test_a_router_that_is_of_no_help_leaves_it_to_the_default(staged: Staging, trouble: Any) -> None:
    """It is asked once, and its trouble is the log's."""
    model, router = ScriptedModel("Done."), ScriptedModel(trouble)
    task = staged(model, router).send("Sales?")
    assert (task_state(task), skills_of(model)) == ("completed", ["default"])
    assert len(router.requests) == 1


def test_what_the_router_costs_is_a_part_of_what_the_answer_costs(staged: Staging) -> None:
    model = ScriptedModel(
        ModelResponse(tool_calls=(calls("ask_user", question="Which?"),), usage=Usage(5, 1)),
        ModelResponse("Done.", usage=Usage(7, 1)),
    )
    stage = staged(model, ScriptedModel(ModelResponse("sums", usage=Usage(100, 2, cost=0.5))))
    asked = stage.send("Sales?")
    about = asked["metadata"]["agentfn"]
    assert (about["steps"], about["usage"]["prompt"], about["usage"]["cost"]) == (1, 105, 0.5)
    done = stage.send("Those.", taskId=asked["id"])
    assert done["metadata"]["agentfn"]["usage"]["prompt"] == 7


def test_its_tokens_count_for_the_limits_of_the_task(staged: Staging) -> None:
    model, router = ScriptedModel("As far as I got."), ScriptedModel(ModelResponse("sums", usage=Usage(5_000, 2)))
    staged(model, router, max_tokens=1_000).send("Sales?")
    assert "reached" in model.requests[0].turns[-1].text


def test_a_conversation_that_goes_on_keeps_its_skill(staged: Staging) -> None:
    model = ScriptedModel(calls("ask_user", question="Which?"), "Added.")
    router = ScriptedModel("sums")
    stage = staged(model, router)
    asked = stage.send("Sales?")
    stage.send("A chart of 2026.", taskId=asked["id"])
    assert (skills_of(model), len(router.requests)) == (["sums", "sums"], 1)


def test_who_is_answered_at_once_does_not_wait_for_the_router(staged: Staging) -> None:
    model, router = ScriptedModel("Added."), ScriptedModel("sums")
    stage = staged(model, router)
    stage.send("Sales?", wait=False)
    assert router.requests == []
    stage.drain_queue()
    assert (skills_of(model), len(router.requests)) == (["sums"], 1)


@pytest.mark.usefixtures("no_waiting")
def test_a_run_without_the_time_for_it_leaves_it_to_the_next(staged: Staging) -> None:
    """A default that was only chosen for want of time would be a poor one."""
    model, router = ScriptedModel("Added."), ScriptedModel(pause(30), "sums")
    stage = staged(model, router)
    task = stage.send("Sales?", seconds=20)
    assert (task_state(task), model.requests) == ("working", [])
    router._script[0] = pause(0)
    stage.drain_queue()
    assert (status_text(stage.get(task["id"])), skills_of(model)) == ("Added.", ["sums"])


@pytest.mark.parametrize(
    ("answer", "skill"), [("sums", "sums"), ("none", "default"), (ModelRequestRejected("no"), "default")]
)
def test_a_run_that_follows_a_dead_one_does_not_ask_the_router_again(staged: Staging, answer: Any, skill: str) -> None:
    model, router = ScriptedModel("Lost.", "Added."), ScriptedModel(answer)
    stage = staged(model, router)
    ward = CrashableStage(stage)
    stage.send("Sales?", wait=False)
    letter = ward.queue_event(ward.injector.sent[0])
    assert ward.invoke(letter, at=4) is None  # the choice is saved, the answer is not
    assert ward.injector.calls[-2:] == ["TransactWriteItems", "TransactWriteItems"]
    ward.expire_leases()
    ward.invoke(letter)
    assert status_text(ward.only_task()) == "Added."
    assert (skills_of(model), len(router.requests)) == ([skill, skill], 1)


def test_a_choice_that_was_not_saved_is_made_again(staged: Staging) -> None:
    model, router = ScriptedModel("Added."), ScriptedModel("chart", "sums")
    stage = staged(model, router)
    ward = CrashableStage(stage)
    stage.send("Sales?", wait=False)
    letter = ward.queue_event(ward.injector.sent[0])
    assert ward.invoke(letter, at=3) is None
    ward.expire_leases()
    ward.invoke(letter)
    assert (skills_of(model), len(router.requests)) == (["sums"], 2)


def test_a_task_in_a_known_context_is_routed_by_its_own_message(staged: Staging) -> None:
    """What was said before is for the skill that is picked."""
    model, router = ScriptedModel("Drawn.", "Added."), ScriptedModel("chart", "sums")
    stage = staged(model, router)
    stage.send("Chart it.", contextId="c")
    stage.send("x" * 10_000, contextId="c")
    assert [len(turn.text) for turn in router.requests[-1].turns] == [4_000]
    assert skills_of(model) == ["chart", "sums"]
    assert [turn.text for turn in model.requests[-1].turns][:2] == ["Chart it.", "Drawn."]


def test_a_router_of_litellm_s_is_asked_with_its_own_address_and_key() -> None:
    model = ScriptedModel("Added.", "Drawn.")
    with StubProvider(says('"sums"'), says("chart")) as provider:
        settings: dict[str, Any] = {"router_llm_model": "openai/gpt-4o-mini", "router_llm_api_base": provider.openai}
        with Stage(Desk(), model, **settings, router_llm_api_key=API_KEY, agent_model_api_key="sk-other") as stage:
            task = stage.send("Sales?")
        with Stage(Desk(), model, **settings, agent_model_api_key=API_KEY) as stage:  # it falls back to the agent's
            stage.send("Sales?")
        first, second = provider.requests
    assert skills_of(model) == ["sums", "chart"]
    assert (first.body["model"], first.body["temperature"], first.body["max_tokens"]) == ("gpt-4o-mini", 0.0, 200)
    assert {request.headers["authorization"] for request in (first, second)} == {f"Bearer {API_KEY}"}
    assert task["metadata"]["agentfn"]["usage"]["prompt"] > 0
    assert provider.refusals == []


class Echo(AgentExecutor):
    async def execute(self, context: RequestContext, event_queue: EventQueue) -> None:
        raise NotImplementedError

    async def cancel(self, context: RequestContext, event_queue: EventQueue) -> None:
        raise NotImplementedError


def test_an_executor_finds_its_own_way() -> None:
    router = ScriptedModel()
    agent = Desk(models={"small": lambda: router})
    with Stage(agent, executor=Echo(), router_llm_model="small") as stage:
        stage.send("Sales?", wait=False)
        stage.drain_queue()
    assert router.requests == []
