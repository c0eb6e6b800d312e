"""The templates as data: CloudFormation's tags become what they stand for, {"Ref": …} or {"Fn::…": …}."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parents[2]


class Loader(yaml.SafeLoader):
    """Of its own, so that other YAML in the same process is read as ever."""


def _intrinsic(loader: Loader, suffix: str, node: yaml.Node) -> dict[str, Any]:
    name = suffix if suffix in {"Ref", "Condition"} else f"Fn::{suffix}"
    if isinstance(node, yaml.ScalarNode):
        text = loader.construct_scalar(node)
        return {name: text.split(".", 1) if suffix == "GetAtt" else text}
    if isinstance(node, yaml.SequenceNode):
        return {name: loader.construct_sequence(node, deep=True)}
    assert isinstance(node, yaml.MappingNode)
    return {name: loader.construct_mapping(node, deep=True)}


Loader.add_multi_constructor("!", _intrinsic)


def load(path: str) -> dict[str, Any]:
    template: dict[str, Any] = yaml.load((ROOT / path).read_text(), Loader)
    return template


def resources(template: dict[str, Any], kind: str) -> dict[str, dict[str, Any]]:
    """Properties of the resources of one type, by logical id."""
    return {name: made["Properties"] for name, made in template["Resources"].items() if made["Type"] == kind}


def statements(template: dict[str, Any]) -> list[dict[str, Any]]:
    """Every statement of every role, those behind a condition included."""
    found: list[dict[str, Any]] = []
    for role in resources(template, "AWS::IAM::Role").values():
        for policy in role["Policies"]:
            found += policy["PolicyDocument"]["Statement"]
    return [statement["Fn::If"][1] if "Fn::If" in statement else statement for statement in found]
