"""infra/storage.yaml: the table that the code was written for, and a bucket for nobody else's eyes."""

from __future__ import annotations

import re
from typing import Any

import pytest

from agentfn import ConfigurationError
from agentfn.files.upload_store import UPLOADS_PREFIX
from agentfn.local.aws_resources import TABLE_SCHEMA
from agentfn.settings import Settings
from infra.templates import load
from support.settings import load_settings

STORAGE = load("infra/storage.yaml")
AGENT = load("infra/agent.yaml")


def rule_of(rule_id: str) -> dict[str, Any]:
    rules = properties("Bucket")["LifecycleConfiguration"]["Rules"]
    return next(dict(rule) for rule in rules if rule["Id"] == rule_id)


def properties(name: str) -> dict[str, Any]:
    found: dict[str, Any] = STORAGE["Resources"][name]["Properties"]
    return found


def test_the_table_is_the_one_that_the_embedded_aws_makes() -> None:
    table = properties("Table")
    assert _by_name(table["AttributeDefinitions"]) == _by_name(TABLE_SCHEMA["AttributeDefinitions"])
    for name in ("BillingMode", "KeySchema", "GlobalSecondaryIndexes"):
        assert table[name] == TABLE_SCHEMA[name]


def test_tasks_expire_and_files_only_after_them() -> None:
    assert properties("Table")["TimeToLiveSpecification"] == {"AttributeName": "expires", "Enabled": True}
    days = STORAGE["Parameters"]["FileDays"]
    assert days["Default"] > Settings.variables()["AGENTFN_TASK_DAYS"]
    with pytest.raises(ConfigurationError, match="AGENTFN_TASK_DAYS"):
        load_settings(AGENTFN_TASK_DAYS=str(days["MaxValue"]))
    assert rule_of("expire-files") == {
        "Id": "expire-files",
        "Status": "Enabled",
        "ExpirationInDays": {"Ref": "FileDays"},
    }


def test_uploads_expire_after_a_day_and_nothing_else_does() -> None:
    rule = rule_of("expire-uploads")
    assert (rule["Prefix"], rule["ExpirationInDays"]) == (f"{UPLOADS_PREFIX}/", 1)
    assert not re.fullmatch(AGENT["Parameters"]["AgentName"]["AllowedPattern"], UPLOADS_PREFIX), (
        "no agent's files lie there"
    )


def test_web_pages_reach_the_files_only_if_they_are_named() -> None:
    assert STORAGE["Parameters"]["WebOrigins"]["Default"] == ""
    condition, named, otherwise = properties("Bucket")["CorsConfiguration"]["Fn::If"]
    assert (condition, otherwise) == ("HasWebOrigins", {"Ref": "AWS::NoValue"})
    (rule,) = named["CorsRules"]
    assert (rule["AllowedOrigins"], rule["AllowedMethods"]) == ({"Ref": "WebOrigins"}, ["GET", "POST"])


def test_the_bucket_is_private_and_asks_for_tls() -> None:
    assert set(properties("Bucket")["PublicAccessBlockConfiguration"].values()) == {True}
    assert "BucketEncryption" in properties("Bucket")
    (statement,) = properties("BucketPolicy")["PolicyDocument"]["Statement"]
    assert (statement["Effect"], statement["Condition"]) == ("Deny", {"Bool": {"aws:SecureTransport": "false"}})


def test_data_outlives_the_stack_on_purpose() -> None:
    for name in ("Table", "Bucket"):
        assert STORAGE["Resources"][name]["DeletionPolicy"] == "RetainExceptOnCreate"
        assert STORAGE["Resources"][name]["UpdateReplacePolicy"] == "Retain"


def test_an_agent_deployed_alone_imports_what_this_exports() -> None:
    exports = {output["Export"]["Name"]["Fn::Sub"] for output in STORAGE["Outputs"].values()}
    assert exports == {"${AWS::StackName}-table", "${AWS::StackName}-bucket"}
    imports = {"${StorageStack}" + name.removeprefix("${AWS::StackName}") for name in exports}
    assert set(_imported(AGENT)) == imports


def _by_name(attributes: list[dict[str, str]]) -> dict[str, str]:
    return {attribute["AttributeName"]: attribute["AttributeType"] for attribute in attributes}


def _imported(value: Any) -> list[str]:
    if isinstance(value, list):
        return [name for entry in value for name in _imported(entry)]
    if not isinstance(value, dict):
        return []
    here = [value["Fn::ImportValue"]["Fn::Sub"]] if "Fn::ImportValue" in value else []
    return here + [name for entry in value.values() for name in _imported(entry)]
