"""Secrets by reference: read late, read again when they change, never shown."""

import json
from typing import Any

import pytest

from agentfn.aws_clients import aws_client
from agentfn.bootstrap.model_factory import create_model
from agentfn.testing import ScriptedModel
from support.settings import load_settings

JSON = {"Content-Type": "application/json", "A2A-Version": "1.0"}
LIST = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "ListTasks", "params": {}})


def status(stage: Any, token: str) -> int:
    headers = {**JSON, "Authorization": f"Bearer {token}"}
    return int(stage.request("POST", "/", body=LIST, headers=headers)["statusCode"])


def make_secret(text: str) -> str:
    return str(aws_client("secretsmanager").create_secret(Name=f"secret-{len(text)}", SecretString=text)["ARN"])


def test_callers_tokens_come_from_the_secret_and_are_read_once(play: Any) -> None:
    stage = play(ScriptedModel(), tokens="", auth="bearer", tokens_secret="to be made")
    arn = make_secret(json.dumps({"carol": "carols-token-0123456789"}))
    stage._settings["AGENTFN_TOKENS_SECRET"] = arn
    stage.handler = stage.new_environment()
    reads = []
    aws_client("secretsmanager").meta.events.register("before-call", lambda **_: reads.append(1))
    assert [status(stage, "carols-token-0123456789") for _ in range(3)] == [200] * 3
    assert status(stage, "somebody-elses-token") == 401
    assert len(reads) == 1


def test_the_model_s_key_comes_from_the_secret_when_it_is_first_needed(play: Any, agent: Any) -> None:
    play(ScriptedModel())
    arn = make_secret("sk-secret")
    settings = load_settings(AGENT_MODEL="openai/gpt-5", AGENT_MODEL_SECRET=arn)
    model: Any = create_model(agent, settings)()
    assert model._api_key() == "sk-secret"
    assert "sk-secret" not in repr(settings)


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"a": 1}', '{"a": "short"}', "not JSON"])
def test_a_secret_that_holds_no_tokens_lets_nobody_in(play: Any, text: str) -> None:
    stage = play(ScriptedModel(), tokens="", tokens_secret="to be made")
    stage._settings["AGENTFN_TOKENS_SECRET"] = make_secret(text or " ")
    stage.handler = stage.new_environment()
    assert status(stage, "short") == 503
