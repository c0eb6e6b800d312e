"""Whatever comes in at the doors: an answer in the form of the protocol, and never a fault of ours.

`FUZZ_EXAMPLES=20000 pytest --timeout 0 tests/hostile/test_fuzz.py` looks for longer.
"""

import json
import os
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agentfn import Agent, InputFile, tool
from agentfn.testing import LambdaContext, ScriptedModel, Stage
from hostile import garbage
from hostile.garbage import bodies, events, paths

MORE = int(os.environ.get("FUZZ_EXAMPLES", "0"))
INTERNAL = -32603
SECONDS = 3.0  # of an invocation: one that waits for a task waits no longer


def fuzz(examples: int) -> Any:
    checks = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much]
    return settings(max_examples=MORE or examples, deadline=None, suppress_health_check=checks)


@pytest.fixture(scope="module")
def stage() -> Iterator[Stage]:
    """With everything switched on; nothing on it leads out of this machine."""

    @tool(idempotent=True)
    def count(file: InputFile) -> int:
        """Counts the bytes of a file."""
        return len(file.read_bytes())

    agent = Agent(name="clerk", description="A clerk.", tools=[count])
    model = ScriptedModel.by_turn(lambda _: "Done.")
    with Stage(agent, model, mcp=True, streaming=True, fetch_hosts="nowhere.test") as stage:
        yield stage


def answered(stage: Stage, event: dict[str, Any]) -> dict[str, Any]:
    """The answer, which is a sound one."""
    answer: dict[str, Any] = stage.handler(event, LambdaContext(SECONDS))
    kind, body = (answer["headers"] or {}).get("content-type", ""), answer.get("body") or ""
    assert 200 <= answer["statusCode"] < 500, answer
    assert not answer["isBase64Encoded"], answer
    assert "Traceback" not in body
    assert "site-packages" not in body
    for told in said(kind, body):
        sound(told)
    return answer


def said(kind: str, body: str) -> list[Any]:
    if not kind.startswith("text/event-stream"):
        return [json.loads(body)] if body else []
    return [json.loads(line.removeprefix("data: ")) for line in body.split("\n") if line.startswith("data: ")]


def sound(told: Any) -> None:
    """No error of ours, and no task that broke."""
    error = told.get("error") if isinstance(told, dict) else None
    code = error.get("code") if isinstance(error, dict) else 0
    assert code != INTERNAL, told
    assert not isinstance(code, int) or code < 500, told
    assert "TASK_STATE_FAILED" not in json.dumps(told)
    assert '"state": "failed"' not in json.dumps(told)


@fuzz(150)
@given(st.data())
def test_no_call_of_json_rpc_finds_a_fault_of_ours(stage: Stage, data: st.DataObject) -> None:
    method = data.draw(st.sampled_from(sorted(garbage.METHODS)))
    call = {"jsonrpc": "2.0", "id": 1, "method": method, "params": garbage.METHODS[method]}
    body = data.draw(bodies(call))
    answered(stage, data.draw(events("POST", "/", body, "" if "/" in method else "1.0")))


@fuzz(150)
@given(st.data())
def test_no_call_over_plain_http_finds_one(stage: Stage, data: st.DataObject) -> None:
    route = data.draw(st.sampled_from(sorted(garbage.PATHS)))
    way, path = route.split(" ")
    shape = garbage.PATHS[route]
    body = data.draw(bodies(shape)) if shape is not None or data.draw(st.booleans()) else None
    answered(stage, data.draw(events(way, data.draw(paths([path])), body, "" if path.startswith("/v1") else "1.0")))


@fuzz(80)
@given(st.data())
def test_no_call_of_a_tool_finds_one(stage: Stage, data: st.DataObject) -> None:
    method = data.draw(st.sampled_from(sorted(garbage.MCP)))
    call = {"jsonrpc": "2.0", "id": 1, "method": method, "params": garbage.MCP[method]}
    event = data.draw(events("POST", "/mcp", data.draw(bodies(call))))
    answered(stage, event)


@fuzz(100)
@given(st.data())
def test_no_method_at_no_path_finds_one(stage: Stage, data: st.DataObject) -> None:
    known = [route.split(" ")[1] for route in garbage.PATHS]
    path = data.draw(paths(known) | garbage.TEXTS.filter(lambda text: "\ud800" not in text).map("/".__add__))
    event = data.draw(events(data.draw(st.sampled_from(garbage.WAYS)), path, data.draw(bodies({}))))
    answered(stage, event)
