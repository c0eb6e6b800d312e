"""`invoke`: a test of an agent in a line or two."""

import os
from pathlib import Path
from typing import Any

import pytest

from agentfn import Agent, ConfigurationError, File, InputFile, Output, tool
from agentfn.aws_clients import aws_client
from agentfn.models import Model, ModelResponse
from agentfn.testing import ScriptedModel, Stage, calls, invoke, pause


@tool(idempotent=True)
def shout(document: InputFile) -> Output:
    """Upper-cases a text."""
    return Output("done", files=[File("loud.txt", document.read_bytes().upper())])


class Fixed(Model):
    name = "fixed"

    async def generate(self, prompt: Any) -> ModelResponse:
        return ModelResponse("Always this.")


AGENT = Agent(name="shouter", description="Shouts.", tools=[shout])


def test_a_message_with_a_file_comes_back_with_a_file(tmp_path: Path) -> None:
    path = tmp_path / "b.txt"
    path.write_bytes(b"quiet")
    for files in ({"a.txt": b"quiet"}, {"a.txt": path}):
        answer = invoke(AGENT, "Shout!", files, model=ScriptedModel(calls("shout", document="a.txt"), "There."))
        assert (answer.status, str(answer), answer.files) == ("completed", "There.", {"loud.txt": b"QUIET"})
        assert answer.task["status"]["state"] == "TASK_STATE_COMPLETED"


def test_a_task_that_waits_and_one_that_fails_come_back_as_such() -> None:
    assert invoke(AGENT, "Hi", model=ScriptedModel(calls("ask_user", question="Who?"))).status == "input_required"
    failed = invoke(AGENT, "Hi", model=ScriptedModel())
    assert failed.status == "failed"
    assert "the script of scripted is over" in failed.text


@pytest.mark.usefixtures("no_waiting")
def test_a_task_that_needs_several_runs_is_played_to_its_end() -> None:
    model = ScriptedModel(pause(30), "At last.")
    assert invoke(AGENT, "Hi", model=model, request_seconds=20, reserve_seconds=1).text == "At last."


def test_without_a_model_the_agents_own_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AGENT_MODEL", raising=False)
    agent = Agent(name="fixed", description="Says one thing.", models={"fixed": Fixed})
    assert invoke(agent, "Hi").text == "Always this."


def test_a_stage_that_cannot_start_leaves_nothing_behind() -> None:
    before = dict(os.environ)
    with pytest.raises(ConfigurationError, match="AGENTFN_JWT_ISSUER"), Stage(AGENT, ScriptedModel(), auth="jwt"):
        raise AssertionError("it began")
    assert dict(os.environ) == before
    with Stage(AGENT, ScriptedModel()):
        assert len(aws_client("s3").list_buckets()["Buckets"]) == 1
