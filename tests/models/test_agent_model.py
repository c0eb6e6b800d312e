"""A whole agent with an HTTP model from its environment, over several invocations."""

import gc

import pytest

from agentfn import Agent, Context, tool
from agentfn.bootstrap.model_factory import create_model
from agentfn.testing import Stage
from provider_stubs.clients import API_KEY, MODEL_NAMES
from provider_stubs.script import Dialect, calls, fails, says
from provider_stubs.server import StubProvider
from support.settings import load_settings


@tool
def look(at: str, context: Context) -> str:
    """Looks at a thing.

    Args:
        at: the thing
    """
    return f"saw {at}"


CLERK = Agent(name="clerk", description="A clerk.", tools=[look])


@pytest.mark.parametrize("dialect", ["openai", "bedrock"])
def test_an_agent_works_with_an_http_model(dialect: Dialect, provider: StubProvider) -> None:
    settings = load_settings(
        AGENT_MODEL=MODEL_NAMES[dialect],
        AGENT_MODEL_API_BASE=getattr(provider, dialect),
        AGENT_MODEL_API_KEY=API_KEY,
    )
    provider.play(
        calls(("c1", "look", {"at": "Rome"}), ("c2", "look", {"at": "Oslo"})),
        says("Rain everywhere."),
        fails(503, retry_after="0.1"),
        says("Here I am."),
    )

    with Stage(CLERK, create_model(CLERK, settings)()) as stage:
        tasks = [stage.send("Weather?"), stage.send("Hi!")]

    answers = [str(task["artifacts"] if task.get("artifacts") else task["status"]) for task in tasks]
    assert "Rain everywhere." in answers[0]
    assert "Here I am." in answers[1]
    assert tasks[0]["metadata"]["agentfn"]["usage"]["cost"] > 0
    assert not provider.refusals
    seen = str(provider.requests[1].body["messages"])
    assert seen.index("saw Rome") < seen.index("saw Oslo")
    gc.collect()  # a connection that was left open would warn now
