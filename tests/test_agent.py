"""An agent, declared one way or the other."""

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast
from zoneinfo import ZoneInfo

import pytest

from agentfn import Agent, ConfigurationError, Skill, tool
from agentfn.models import Sampling

NOON = datetime(2026, 3, 9, 12, 5, tzinfo=UTC)
CLOCK = "It is Monday, 09 March 2026, 12:05 (UTC)."


@tool
def look_up(city: str) -> str:
    """Tells the weather."""
    return city


SKILL = Skill("weather", "Weather", "Tells it.", ("sky",), ("Rain?",))


def shouting(default: str) -> str:
    return f"SHOUT. {default}"


class Clerk(Agent):
    name = "clerk"
    description = "A clerk."
    version = "2.0.0"
    instructions: Any = "You are a clerk."
    tools = [look_up]
    skills = [SKILL]
    sampling = Sampling(temperature=0.0)
    force_first_tool = True


def by_keywords(**changes: Any) -> Agent:
    names = ("name", "description", "version", "instructions", "tools", "skills", "sampling", "force_first_tool")
    return Agent(**{**{name: getattr(Clerk, name) for name in names}, **changes})


def test_keywords_and_a_subclass_give_the_same_agent() -> None:
    one, other = Clerk(), by_keywords()
    names = Agent._field_names
    assert {name: getattr(one, name) for name in names} == {name: getattr(other, name) for name in names}
    assert one.system_prompt(NOON) == other.system_prompt(NOON)
    assert one.registry.declarations() == other.registry.declarations()
    assert one.find_skill("weather") == other.find_skill("weather") == SKILL
    assert one.find_skill("none") is None


def test_a_keyword_goes_before_what_the_subclass_says_and_changes_no_other_agent() -> None:
    assert Clerk(version="3.0.0").version == "3.0.0"
    assert Clerk().version == "2.0.0"


def test_an_unknown_keyword_is_refused_with_those_there_are() -> None:
    with pytest.raises(
        ConfigurationError, match=r"unknown arguments: instruction, toolz; it takes .*instructions.*tools"
    ):
        by_keywords(toolz=[], instruction="")


@pytest.mark.parametrize("name", ["", "Clerk", "1clerk", "a b", "a#b", "a/b", "-a", "a" * 41, "é", "a\n", None, 7])
def test_a_bad_name_is_refused(name: Any) -> None:
    with pytest.raises(ConfigurationError, match="an agent's name"):
        by_keywords(name=name)


def test_a_missing_description_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="agent clerk: it needs a description"):
        by_keywords(description="")


def test_duplicates_among_tools_and_skills_are_refused_by_name() -> None:
    with pytest.raises(ConfigurationError, match="tool look_up: there are two"):
        by_keywords(tools=[look_up, look_up])
    with pytest.raises(ConfigurationError, match=r"agent clerk: two skills .* weather, weather"):
        by_keywords(skills=[SKILL, SKILL])


def test_a_plain_function_among_the_tools_becomes_one() -> None:
    def count(n: int) -> int:
        """Counts."""
        return n

    assert by_keywords(tools=[count]).registry.names == ["count"]


@pytest.mark.parametrize("name", ["missing.md", "."])
def test_instructions_that_are_no_file_are_refused_at_once(tmp_path: Path, name: str) -> None:
    with pytest.raises(ConfigurationError, match=r"agent clerk: its instructions .* are not a file"):
        by_keywords(instructions=tmp_path / name)


def test_a_text_or_a_file_is_put_before_the_date_the_time_and_the_zone(tmp_path: Path) -> None:
    file = tmp_path / "instructions.md"
    file.write_text("Sei höflich. {now} stays.\n\n", encoding="utf-8")
    assert by_keywords(instructions=file).system_prompt(NOON) == f"Sei höflich. {{now}} stays.\n\n{CLOCK}"
    assert by_keywords().system_prompt(NOON) == f"You are a clerk.\n\n{CLOCK}"
    assert by_keywords(instructions="").system_prompt(NOON) == CLOCK
    there = NOON.astimezone(ZoneInfo("Europe/Berlin"))
    assert by_keywords(instructions="").system_prompt(there) == "It is Monday, 09 March 2026, 13:05 (CET)."


class Named(Clerk):
    instructions = shouting


class Written(Clerk):
    def instructions(self, default: str) -> str:
        return f"I am {self.name}. {default}"


class Static(Clerk):
    instructions = staticmethod(shouting)


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: by_keywords(instructions=shouting), f"SHOUT. {CLOCK}"),
        (Named, f"SHOUT. {CLOCK}"),
        (Static, f"SHOUT. {CLOCK}"),
        (Written, f"I am clerk. {CLOCK}"),
        (lambda: by_keywords(instructions=lambda default: "Nothing else."), "Nothing else."),
    ],
    ids=["keyword", "subclass", "static", "method", "replaced"],
)
def test_a_function_does_with_the_default_as_it_likes(make: Callable[[], Agent], text: str) -> None:
    assert make().system_prompt(NOON) == text


def test_a_skill_is_done_by_the_loop_unless_the_agent_says_otherwise() -> None:
    class StubTaskContext:
        id, skill, message, files = "t", "", "Hi", ()

        async def run_stream(self, **_: Any) -> Any:
            for event in ("one", "two"):
                yield event

    async def run(agent: Agent) -> list[str]:
        return [event async for event in agent.handle(cast("Any", StubTaskContext()))]

    class Other(Clerk):
        async def execute_skill(self, skill_id: str, message: str, task: Any) -> Any:
            yield f"{skill_id}: {message}"

    assert asyncio.run(run(Clerk())) == ["one", "two"]
    assert asyncio.run(run(Other())) == [": Hi"]
