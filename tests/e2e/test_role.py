"""What the deployed agent's role reaches: its own tasks and files, and nobody else's. The stories beside this one prove
that it reaches enough: the emulator enforces it there."""

from __future__ import annotations

from typing import Any

import pytest

from e2e.caller import Caller
from e2e.deployment import Account

pytestmark = [pytest.mark.timeout(900), pytest.mark.usefixtures("analyst")]


@pytest.fixture
def allowed(account: Account, analyst: Caller) -> Any:
    names = [role["RoleName"] for role in account.client("iam").list_roles()["Roles"]]
    (role,) = [name for name in names if name.startswith("agentfn-Analyst-")]

    def ask(action: str, resource: str, keys: tuple[str, ...] = ()) -> bool:
        context = [
            {"ContextKeyName": "dynamodb:LeadingKeys", "ContextKeyValues": list(keys), "ContextKeyType": "stringList"}
        ]
        answer = account.client("iam").simulate_principal_policy(
            PolicySourceArn=f"arn:aws:iam::000000000000:role/{role}",
            ActionNames=[action],
            ResourceArns=[resource],
            ContextEntries=context if keys else [],
        )
        return all(result["EvalDecision"] == "allowed" for result in answer["EvaluationResults"])

    return ask


@pytest.fixture
def storage(account: Account, analyst: Caller) -> dict[str, str]:
    return account.outputs("agentfn")


def table_arn(storage: dict[str, str]) -> str:
    return f"arn:aws:dynamodb:us-east-1:000000000000:table/{storage['TableName']}"


@pytest.mark.parametrize("action", ["GetItem", "PutItem", "UpdateItem", "DeleteItem", "Query", "ConditionCheckItem"])
def test_only_the_agents_own_keys_are_reached(allowed: Any, storage: dict[str, str], action: str) -> None:
    table = table_arn(storage)
    assert allowed(f"dynamodb:{action}", table, ("analyst#caller#task",))
    assert not allowed(f"dynamodb:{action}", table, ("other#caller#task",))
    assert not allowed(f"dynamodb:{action}", table, ("analyst#caller#task", "other#caller#task"))
    assert not allowed(f"dynamodb:{action}", table)


def test_the_whole_table_is_never_read(allowed: Any, storage: dict[str, str]) -> None:
    assert not allowed("dynamodb:Scan", table_arn(storage))
    assert not allowed("dynamodb:PartiQLSelect", table_arn(storage), ("analyst#caller#task",))


def test_only_the_agents_own_files_are_reached(allowed: Any, storage: dict[str, str]) -> None:
    bucket = f"arn:aws:s3:::{storage['BucketName']}"
    assert allowed("s3:GetObject", f"{bucket}/analyst/caller/task/report.md")
    assert not allowed("s3:GetObject", f"{bucket}/other/caller/task/report.md")
    assert not allowed("s3:ListBucket", bucket)


def test_models_on_bedrock_are_out_of_reach_unless_named(allowed: Any) -> None:
    assert not allowed("bedrock:InvokeModel", "arn:aws:bedrock:us-east-1::foundation-model/anthropic.claude")
