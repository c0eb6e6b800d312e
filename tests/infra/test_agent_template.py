"""infra/agent.yaml: fits the code, safe as it stands, and no more allowed than the agent needs."""

from __future__ import annotations

import json
import os
import re
from typing import Any

import pytest

from agentfn.a2a.authentication_middleware import PUBLIC_PATHS
from agentfn.settings import Settings
from infra.templates import ROOT, load, resources, statements

AGENT = load("infra/agent.yaml")
PARAMETERS: dict[str, dict[str, Any]] = AGENT["Parameters"]
(FUNCTION,) = resources(AGENT, "AWS::Serverless::Function").values()

OF_OTHERS = {"LITELLM_LOCAL_MODEL_COST_MAP", "LITELLM_MODE", "AWS_LAMBDA_EXEC_WRAPPER"}
CALLED = {"Fn::If": ["Published", {"Ref": "Function.Alias"}, {"Ref": "Function"}]}
NEEDED = {
    "AGENT_MODEL",
    "AGENTFN_TABLE",
    "AGENTFN_BUCKET",
    "AGENTFN_QUEUE_URL",
    "AGENTFN_AUTH",
    "AGENTFN_TOKENS_SECRET",
}


def test_every_variable_it_sets_is_one_that_the_code_reads() -> None:
    variables = set(FUNCTION["Environment"]["Variables"])
    assert variables - OF_OTHERS <= Settings.variables().keys()
    assert variables >= OF_OTHERS | NEEDED


def test_its_defaults_are_values_that_the_code_takes() -> None:
    variables = FUNCTION["Environment"]["Variables"]
    passed_on = {name: value["Ref"] for name, value in variables.items() if set(value) == {"Ref"}}
    given = {
        name: PARAMETERS[ref]["Default"] for name, ref in passed_on.items() if "Default" in PARAMETERS.get(ref, {})
    }
    assert len(given) >= 20
    Settings.load({**dict.fromkeys(NEEDED, "x"), **{name: str(value) for name, value in given.items()}})


def test_it_is_closed_unless_asked_otherwise() -> None:
    assert PARAMETERS["AuthMode"]["Default"] == "bearer"
    (secret,) = resources(AGENT, "AWS::SecretsManager::Secret").values()
    generated = secret["GenerateSecretString"]
    assert json.loads(generated["SecretStringTemplate"]) == {}
    assert generated["GenerateStringKey"]
    assert generated["PasswordLength"] >= 32


@pytest.mark.parametrize("mode", PARAMETERS["AuthMode"]["AllowedValues"])
def test_every_way_to_call_is_one_that_the_code_knows(mode: str) -> None:
    needed = dict.fromkeys(NEEDED, "x")
    of_jwt = {
        "AGENTFN_JWT_ISSUER": "https://id.example.com",
        "AGENTFN_JWT_AUDIENCE": "clerk",
    }
    assert set(of_jwt) <= set(FUNCTION["Environment"]["Variables"])
    assert Settings.load({**needed, **of_jwt, "AGENTFN_AUTH": mode}).auth.mode == mode


def test_tokens_of_nobody_are_refused_before_anything_is_deployed() -> None:
    rule = AGENT["Rules"]["TokensOfSomebody"]
    assert rule["RuleCondition"] == {"Fn::Equals": [{"Ref": "AuthMode"}, "jwt"]}
    assert [next(iter(told["Assert"])) for told in rule["Assertions"]] == ["Fn::Not", "Fn::Not"]


def methods() -> dict[tuple[str, str], dict[str, Any]]:
    paths: dict[str, dict[str, Any]] = AGENT["Resources"]["Api"]["Properties"]["DefinitionBody"]["paths"]
    return {(path, method): told for path, found in paths.items() for method, told in found.items()}


def test_with_iam_every_method_but_the_card_and_health_takes_signed_requests_only() -> None:
    assert AGENT["Conditions"]["Signed"] == {"Fn::Equals": [{"Ref": "AuthMode"}, "iam"]}
    who = {where: told.get("x-amazon-apigateway-auth") for where, told in methods().items()}
    assert {where for where, auth in who.items() if auth is None} == {
        (path, method) for path in PUBLIC_PATHS for method in ("get", "head")
    }
    closed = {where: auth for where, auth in who.items() if auth}
    preflights = {where for where in closed if where[1] == "options"}
    assert all(closed[where] == {"type": {"Fn::If": ["SignedPreflight", "AWS_IAM", "NONE"]}} for where in preflights)
    others = set(closed) - preflights
    assert all(closed[where] == {"type": {"Fn::If": ["Signed", "AWS_IAM", "NONE"]}} for where in others)
    assert AGENT["Resources"]["Api"]["Properties"]["AlwaysDeploy"]


def test_every_method_calls_the_function_in_the_way_that_streaming_needs() -> None:
    (integration,) = {json.dumps(told["x-amazon-apigateway-integration"]) for told in methods().values()}
    told = json.loads(integration)
    _, named = told["uri"]["Fn::Sub"]
    assert named["Way"] == {"Fn::If": ["Streams", "response-streaming-invocations", "invocations"]}
    assert named["Version"] == {"Fn::If": ["Streams", "2021-11-15", "2015-03-31"]}
    assert told["responseTransferMode"] == {"Fn::If": ["Streams", "STREAM", "BUFFERED"]}
    assert told["timeoutInMillis"] == {"Fn::If": ["Streams", PARAMETERS["Timeout"]["MaxValue"] * 1000, 29_000]}


def test_an_agent_that_streams_has_a_client_that_can() -> None:
    variables = FUNCTION["Environment"]["Variables"]
    assert variables["AGENTFN_STREAMING"] == {"Ref": "Streaming"}
    _, wrapper, _ = variables["AWS_LAMBDA_EXEC_WRAPPER"]["Fn::If"]
    script = ROOT / "shared" / wrapper.removeprefix("/var/task/")
    assert os.access(script, os.X_OK)
    assert f"python{FUNCTION['Runtime'].removeprefix('python')}/" in script.read_text()


def test_events_take_the_alias_where_snapshots_or_ready_environments_are_wanted() -> None:
    made = AGENT["Resources"]
    assert AGENT["Conditions"]["Published"]["Fn::Or"] == [
        {"Condition": "Provisioned"},
        {"Fn::Equals": [{"Ref": "SnapStart"}, "PublishedVersions"]},
    ]
    for name in ("FunctionContinuations", "FunctionSweepPermission", "FunctionApiPermission"):
        assert made[name]["Properties"]["FunctionName"] == CALLED
    arn = {"Fn::If": ["Published", {"Ref": "Function.Alias"}, {"Fn::GetAtt": ["Function", "Arn"]}]}
    (target,) = made["FunctionSweep"]["Properties"]["Targets"]
    assert target["Arn"] == arn
    uri = methods()["/", "post"]["x-amazon-apigateway-integration"]["uri"]["Fn::Sub"][1]
    assert uri["Called"] == arn
    assert {"AutoPublishAlias", "SnapStart", "ProvisionedConcurrencyConfig"} <= set(FUNCTION)


def test_a_versions_description_holds_what_makes_another_version_and_is_never_too_long() -> None:
    described = FUNCTION["VersionDescription"]["Fn::Sub"]
    named = re.findall(r"\$\{(\w+)\}", described)
    assert {"Model", "Streaming", "SnapStart", "Release"} <= set(named) <= set(PARAMETERS)
    longest = {name: max(map(len, map(str, _longest(PARAMETERS[name])))) for name in named if name != "Model"}
    assert sum(longest.values()) + len(named) + 100 <= 256  # a model's name is at most an ARN


def _longest(parameter: dict[str, Any]) -> list[Any]:
    return [*parameter.get("AllowedValues", []), parameter.get("MaxValue", parameter.get("Default", "")), "x" * 12]


@pytest.mark.parametrize("rule", ["KeyToSignWith", "OneWayToBeReady"])
def test_what_excludes_another_is_refused_before_anything_is_deployed(rule: str) -> None:
    assert AGENT["Rules"][rule]["Assertions"][0]["AssertDescription"]


def test_there_is_no_default_model() -> None:
    assert "Default" not in PARAMETERS["Model"]
    assert PARAMETERS["Model"]["AllowedPattern"] == ".+"


def test_every_parameter_says_what_it_is() -> None:
    assert [name for name, parameter in PARAMETERS.items() if not parameter.get("Description")] == []


def test_the_request_ends_before_api_gateway_gives_up() -> None:
    allowed = PARAMETERS["RequestSeconds"]["AllowedPattern"]
    assert [second for second in range(100) if re.fullmatch(allowed, str(second))] == list(range(6, 30))
    assert Settings.variables()["AGENTFN_REQUEST_SECONDS"] < 29


def test_a_message_stays_hidden_for_as_long_as_a_run_may_take() -> None:
    queue = AGENT["Resources"]["Queue"]["Properties"]
    assert queue["VisibilityTimeout"] == FUNCTION["Timeout"] == {"Ref": "Timeout"}
    assert queue["RedrivePolicy"]["deadLetterTargetArn"] == {"Fn::GetAtt": ["DeadLetters", "Arn"]}


def test_one_task_is_one_invocation_and_a_chain_of_them_is_wanted() -> None:
    source = AGENT["Resources"]["FunctionContinuations"]["Properties"]
    assert source["BatchSize"] == 1
    assert source["FunctionResponseTypes"] == ["ReportBatchItemFailures"]
    assert FUNCTION["RecursiveLoop"] == "Allow"


def test_it_runs_the_python_that_the_package_is_built_for() -> None:
    assert FUNCTION["Runtime"] == "python3.13"
    assert 'PYTHON = "3.13"' in (ROOT / "infra" / "build.py").read_text()


def test_the_function_never_refers_to_its_own_api() -> None:
    assert '"Api"' not in json.dumps(FUNCTION)


def test_no_permission_has_a_star_for_its_resource() -> None:
    stars = [statement["Sid"] for statement in statements(AGENT) if "*" in _resources(statement)]
    assert stars == ["Traces"]  # X-Ray knows no resources, and it is off unless asked for
    assert PARAMETERS["Tracing"]["Default"] == "PassThrough"


def test_no_permission_has_a_star_for_its_action() -> None:
    actions = [action for statement in statements(AGENT) for action in _listed(statement["Action"])]
    assert not [action for action in actions if "*" in action]
    assert "dynamodb:Scan" not in actions


def test_the_table_is_reached_only_by_the_agents_own_keys() -> None:
    (tasks,) = [statement for statement in statements(AGENT) if statement["Sid"] == "OwnTasks"]
    assert tasks["Condition"] == {
        "ForAllValues:StringLike": {"dynamodb:LeadingKeys": [{"Fn::Sub": "${AgentName}#*"}]},
        "Null": {"dynamodb:LeadingKeys": "false"},
    }


def test_every_queue_is_encrypted_and_keeps_messages_for_as_long_as_it_can() -> None:
    for queue in resources(AGENT, "AWS::SQS::Queue").values():
        assert queue["SqsManagedSseEnabled"] is True
        assert queue["MessageRetentionPeriod"] == 14 * 24 * 3600


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _resources(statement: dict[str, Any]) -> list[Any]:
    return _listed(statement["Resource"])
