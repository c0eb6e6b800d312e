"""infra/agent.yaml: fits the code, safe as it stands, and no more allowed than the agent needs."""

from __future__ import annotations

import json
from typing import Any

import pytest

from agentfn.a2a.web import PUBLIC
from agentfn.settings import Settings
from infra.templates import ROOT, load, resources, statements

AGENT = load("infra/agent.yaml")
PARAMETERS: dict[str, dict[str, Any]] = AGENT["Parameters"]
(FUNCTION,) = resources(AGENT, "AWS::Serverless::Function").values()

OF_OTHERS = {"LITELLM_LOCAL_MODEL_COST_MAP", "LITELLM_MODE"}
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
    assert variables - OF_OTHERS <= Settings.variables()
    assert variables >= OF_OTHERS | NEEDED


@pytest.mark.parametrize(
    ("variable", "parameter"),
    [
        ("AGENTFN_AUTH", "AuthMode"),
        ("AGENTFN_PUBLIC_URL", "PublicUrl"),
        ("AGENTFN_BASE_PATH", "BasePath"),
        ("AGENTFN_REQUEST_SECONDS", "RequestSeconds"),
        ("AGENTFN_TASK_DAYS", "TaskDays"),
    ],
)
def test_its_defaults_are_values_that_the_code_takes(variable: str, parameter: str) -> None:
    needed = dict.fromkeys(NEEDED - {"AGENTFN_AUTH"}, "x")
    Settings.load({**needed, variable: str(PARAMETERS[parameter]["Default"])})


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
        "AGENTFN_JWT_CLAIM": "sub",
    }
    assert set(of_jwt) <= set(FUNCTION["Environment"]["Variables"])
    assert Settings.load({**needed, **of_jwt, "AGENTFN_AUTH": mode}).auth == mode


def test_tokens_of_nobody_are_refused_before_anything_is_deployed() -> None:
    rule = AGENT["Rules"]["TokensOfSomebody"]
    assert rule["RuleCondition"] == {"Fn::Equals": [{"Ref": "AuthMode"}, "jwt"]}
    assert [next(iter(told["Assert"])) for told in rule["Assertions"]] == ["Fn::Not", "Fn::Not"]
    assert PARAMETERS["JwtClaim"]["Default"] == Settings.model_fields["jwt_claim"].default


def test_with_iam_every_method_but_the_card_and_health_takes_signed_requests_only() -> None:
    assert AGENT["Conditions"]["Signed"] == {"Fn::Equals": [{"Ref": "AuthMode"}, "iam"]}
    events = [event["Properties"] for event in FUNCTION["Events"].values() if event["Type"] == "Api"]
    api = AGENT["Resources"]["Api"]["Properties"]
    signed = {
        (path, method): told["x-amazon-apigateway-auth"]["type"]
        for path, methods in api["DefinitionBody"]["paths"].items()
        for method, told in methods.items()
    }
    opened = {(event["Path"], event["Method"]) for event in events} - set(signed)
    assert opened == {(path, "get") for path in PUBLIC}
    assert all(kind == {"Fn::If": ["Signed", "AWS_IAM", "NONE"]} for kind in signed.values())
    assert api["MergeDefinitions"]
    assert api["AlwaysDeploy"]


def test_there_is_no_default_model() -> None:
    assert "Default" not in PARAMETERS["Model"]
    assert PARAMETERS["Model"]["AllowedPattern"] == ".+"


def test_every_parameter_says_what_it_is() -> None:
    assert [name for name, parameter in PARAMETERS.items() if not parameter.get("Description")] == []


def test_the_request_ends_before_api_gateway_gives_up() -> None:
    assert PARAMETERS["RequestSeconds"]["Default"] < PARAMETERS["RequestSeconds"]["MaxValue"] == 29


def test_a_message_stays_hidden_for_as_long_as_a_run_may_take() -> None:
    queue = AGENT["Resources"]["Queue"]["Properties"]
    assert queue["VisibilityTimeout"] == FUNCTION["Timeout"] == {"Ref": "Timeout"}
    assert queue["RedrivePolicy"]["deadLetterTargetArn"] == {"Fn::GetAtt": ["DeadLetters", "Arn"]}


def test_one_task_is_one_invocation_and_a_chain_of_them_is_wanted() -> None:
    source = FUNCTION["Events"]["Continuations"]["Properties"]
    assert source["BatchSize"] == 1
    assert source["FunctionResponseTypes"] == ["ReportBatchItemFailures"]
    assert FUNCTION["RecursiveLoop"] == "Allow"


def test_it_runs_the_python_that_the_package_is_built_for() -> None:
    assert FUNCTION["Runtime"] == "python3.13"
    assert 'PYTHON = "3.13"' in (ROOT / "infra" / "build.py").read_text()


def test_the_function_never_refers_to_its_own_api() -> None:
    own = {name: value for name, value in FUNCTION.items() if name != "Events"}
    assert '"Api"' not in json.dumps(own)


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
