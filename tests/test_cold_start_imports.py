"""What a cold start imports, in a process of its own: the budget of an agent's read side."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator

import pytest

from agentfn.local.aws_resources import AwsResources
from agentfn.local.embedded_aws import REGION, EmbeddedAws
from agentfn.loop.loop_limits import LIFECYCLE_TOOL_NAMES
from agentfn.loop.tool_calls.lifecycle_tools import LIFECYCLE_TOOLS

# What development alone brings, and what httpx and sse-starlette import where it is there.
AS_DEPLOYED = """
import sys
sys.modules |= dict.fromkeys(("click", "uvicorn", "python_multipart"))
"""
STARTED = """
import json

from agentfn import Agent, Skill, serve, tool
from agentfn.local.lambda_events import LocalLambdaContext, rest_event, rpc_event

@tool
async def look(at: str) -> str:
    '''Looks at something.'''
    return f"seen {at}"

agent = Agent(name="clerk", description="A clerk.", tools=[look], skills=[Skill("look", "Look", "Looks.", ("look",))])
handler = serve(agent)

def asked(method, **params):
    answer = handler(rpc_event(method, params), LocalLambdaContext())
    answer = json.loads(answer["body"])
    assert "error" not in answer, answer
    return answer["result"]
"""
CARD = """
assert handler(rest_event("GET", "/.well-known/agent-card.json"), LocalLambdaContext())["statusCode"] == 200
"""
TASKS = """
message = {"messageId": "m", "role": "ROLE_USER", "parts": [{"text": "Hi"}]}
task = asked("SendMessage", message=message, configuration={"returnImmediately": True})["task"]
assert asked("GetTask", id=task["id"])["id"] == task["id"]
assert asked("ListTasks")["tasks"]
assert asked("CancelTask", id=task["id"])["status"]["state"] == "TASK_STATE_CANCELED"
"""
TOLD = """
print(json.dumps([name for name, module in sys.modules.items() if module]))
"""
# None of it is needed to read a task, to begin one that the queue then works on, or to cancel it. httpx is no such
# thing, alas: the sdk imports it with its routes.
HEAVY = {
    *("litellm", "openai", "aiohttp", "tiktoken", "jwt", "cryptography", "mcp", "jsonschema", "sqlite3", "requests"),
    *(
        "agentfn.models.providers.litellm_model",
        "agentfn.models.providers.openai_model",
        "agentfn.models.providers.bedrock_model",
        "agentfn.loop.agent_loop",
    ),
    *(
        "agentfn.loop.tool_calls.lifecycle_tools",
        "agentfn.loop.loop_events",
        "agentfn.tools.read_more_tool",
        "agentfn.runs.task_context",
        "agentfn.runs.skill_router",
    ),
    *("agentfn.mcp", "agentfn.auth.jwt", "agentfn.auth.jwks"),
}
# Modules of all packages together. Each costs half a millisecond or more of a cold start: think, then raise it.
CARD_BUDGET = 840  # 825 when this was written
TASKS_BUDGET = 1025  # 1011


@pytest.fixture(scope="module")
def environment() -> Iterator[dict[str, str]]:
    with EmbeddedAws("imports") as aws:
        resources: AwsResources = aws.resources
        yield {
            "AGENT_MODEL": "openai/gpt-5",
            "AGENTFN_AUTH": "none",
            "AWS_ACCESS_KEY_ID": "local",
            "AWS_SECRET_ACCESS_KEY": "local",
            "AWS_DEFAULT_REGION": REGION,
            "AWS_ENDPOINT_URL": aws.url,
            "NO_PROXY": "127.0.0.1",
            "POWERTOOLS_LOG_LEVEL": "ERROR",
            "PATH": os.environ["PATH"],
            **resources.environment(),
        }


def imported(code: str, environment: dict[str, str]) -> set[str]:
    ran = subprocess.run(
        [sys.executable, "-c", AS_DEPLOYED + STARTED + code + TOLD],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    return set(json.loads(ran.stdout.splitlines()[-1]))


def test_a_card_is_answered_within_its_budget_of_imports(environment: dict[str, str]) -> None:
    modules = imported(CARD, environment)
    assert modules & (HEAVY | {"boto3", "botocore.session"}) == set()
    assert len(modules) <= CARD_BUDGET, "a card needs more modules than it did: see docs/performance.md"


def test_tasks_are_begun_read_listed_and_cancelled_within_their_budget_of_imports(environment: dict[str, str]) -> None:
    modules = imported(TASKS, environment)
    assert modules & HEAVY == set()
    assert len(modules) <= TASKS_BUDGET, "the read side needs more modules than it did: see docs/performance.md"


def test_the_collector_rests_while_agentfn_is_imported_and_works_after(environment: dict[str, str]) -> None:
    counted = """
import gc
passes = []
gc.callbacks.append(lambda phase, _: passes.append(phase))
import agentfn
assert not passes and gc.isenabled() and gc.get_freeze_count() > 100_000, (passes, gc.get_freeze_count())
gc.collect()
assert passes
gc.disable()
import importlib
importlib.reload(agentfn)
assert not gc.isenabled(), "whoever had switched it off keeps it off"
"""
    ran = subprocess.run([sys.executable, "-c", counted], env=environment, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr


def test_the_names_that_no_agent_s_tool_may_have_are_those_of_the_loop_s_own() -> None:
    """They are written down twice, so that an agent can be checked before its loop is imported."""
    assert set(LIFECYCLE_TOOLS.names) == LIFECYCLE_TOOL_NAMES
