"""template.yaml and samconfig.toml: every agent listed is one that exists, under the name its role is made for."""

from __future__ import annotations

import ast
import tomllib
from pathlib import Path
from typing import Any

import pytest

from infra.templates import ROOT, load, resources

AGENT = load("infra/agent.yaml")
ROOT_TEMPLATE = load("template.yaml")
AGENTS = {
    name: application["Parameters"]
    for name, application in resources(ROOT_TEMPLATE, "AWS::Serverless::Application").items()
    if application["Location"] == "infra/agent.yaml"
}
CONFIGURATION = tomllib.loads((ROOT / "samconfig.toml").read_text())


def folder(code_uri: str) -> Path:
    """A code folder is named from the agent template's point of view."""
    return (ROOT / "infra" / code_uri).resolve()


def name_in_code(app: Path) -> str:
    """The name given to Agent(...) in app.py."""
    calls = [node for node in ast.walk(ast.parse(app.read_text())) if isinstance(node, ast.Call)]
    made = [call for call in calls if isinstance(call.func, ast.Name) and call.func.id == "Agent"]
    (name,) = [keyword.value for keyword in made[0].keywords if keyword.arg == "name"]
    return str(ast.literal_eval(name))


def overrides(environment: str, command: str) -> dict[str, str]:
    listed = CONFIGURATION[environment][command]["parameters"]["parameter_overrides"]
    return dict(entry.split("=", 1) for entry in listed)


@pytest.mark.parametrize("logical_id", AGENTS)
def test_a_listed_agent_has_code_pins_and_a_build(logical_id: str) -> None:
    code = folder(AGENTS[logical_id]["CodeUri"])
    for name in ("app.py", "requirements.txt", "Makefile"):
        assert (code / name).is_file()
    (function,) = resources(AGENT, "AWS::Serverless::Function")
    assert f"build-{function}:" in (code / "Makefile").read_text()


@pytest.mark.parametrize("logical_id", AGENTS)
def test_a_listed_agent_has_the_name_of_its_code(logical_id: str) -> None:
    given = AGENTS[logical_id]
    assert given["AgentName"] == name_in_code(folder(given["CodeUri"]) / "app.py")


@pytest.mark.parametrize("logical_id", AGENTS)
def test_a_listed_agent_is_given_what_its_template_asks_for(logical_id: str) -> None:
    required = {name for name, parameter in AGENT["Parameters"].items() if "Default" not in parameter}
    assert required <= set(AGENTS[logical_id]) <= set(AGENT["Parameters"])
    assert "AuthMode" not in AGENTS[logical_id]


@pytest.mark.parametrize("logical_id", AGENTS)
def test_a_listed_agent_can_be_deployed_alone(logical_id: str) -> None:
    name = AGENTS[logical_id]["AgentName"]
    fixed: dict[str, Any] = {key: value for key, value in AGENTS[logical_id].items() if key in ("AgentName", "CodeUri")}
    assert overrides(name, "build") == overrides(name, "deploy") == fixed
    assert (ROOT / CONFIGURATION[name]["build"]["parameters"]["template_file"]).is_file()


def test_the_storage_stack_has_the_name_that_agents_import_from() -> None:
    stack = CONFIGURATION["storage"]["deploy"]["parameters"]["stack_name"]
    assert stack == AGENT["Parameters"]["StorageStack"]["Default"]


def test_a_deployment_has_to_name_its_models() -> None:
    models = {given["Model"]["Ref"] for given in AGENTS.values()}
    assert not [name for name in models if "Default" in ROOT_TEMPLATE["Parameters"][name]]
