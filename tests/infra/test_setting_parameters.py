"""Every setting is a parameter of infra/agent.yaml or documented as fixed, and each default has one place."""

from __future__ import annotations

import re
from typing import Any

import pytest

from agentfn.settings import Settings
from infra.templates import ROOT, load, resources

AGENT = load("infra/agent.yaml")
PARAMETERS: dict[str, dict[str, Any]] = AGENT["Parameters"]
(FUNCTION,) = resources(AGENT, "AWS::Serverless::Function").values()
ENVIRONMENT: dict[str, Any] = FUNCTION["Environment"]["Variables"]
ROWS = {
    variable: (parameter, default)
    for variable, parameter, default in re.findall(
        r"^\| `([A-Z_]+)` \| ([^|]+) \| ([^|]+) \|", (ROOT / "docs" / "settings.md").read_text(), re.MULTILINE
    )
}
READ_BY_THE_TEMPLATE = {"AuthMode", "Streaming", "PushSigned"}  # in conditions and rules
MAX_ENVIRONMENT_BYTES = 4096  # https://docs.aws.amazon.com/lambda/latest/dg/gettingstarted-limits.html


def parameter_of(variable: str) -> str:
    """The parameter whose value the template passes on as it is; empty where there is none."""
    value = ENVIRONMENT.get(variable)
    name = value.get("Ref", "") if isinstance(value, dict) else ""
    return name if name in PARAMETERS else ""


def test_the_docs_list_every_variable() -> None:
    assert ROWS.keys() == Settings.variables().keys()


@pytest.mark.parametrize("variable", sorted(Settings.variables()))
def test_each_variable_has_a_parameter_or_is_documented_as_fixed(variable: str) -> None:
    documented, _ = ROWS[variable]
    match documented:
        case "not deployable":
            assert variable not in ENVIRONMENT
        case "set by the template":
            assert variable in ENVIRONMENT
            assert not parameter_of(variable)
        case _:
            assert documented == f"`{parameter_of(variable)}`"


@pytest.mark.parametrize("variable", sorted(filter(parameter_of, Settings.variables())))
def test_a_parameter_leaves_the_default_to_the_code_unless_the_template_reads_it_too(variable: str) -> None:
    name = parameter_of(variable)
    default = PARAMETERS[name].get("Default", "")
    if name in READ_BY_THE_TEMPLATE:
        assert default == str(Settings.variables()[variable]).lower()
    else:
        assert default == ""


@pytest.mark.parametrize("variable", sorted(Settings.variables()))
def test_the_docs_give_the_code_s_default(variable: str) -> None:
    _, documented = ROWS[variable]
    default = Settings.variables()[variable]
    if default in (None, ""):
        assert not re.fullmatch(r"\d+|`(true|false|auto)`", documented)
    elif isinstance(default, (bool, str)):
        assert documented in (f"`{str(default).lower()}`", "every public host")
    else:
        assert float(documented) == default


def test_the_environment_leaves_room_for_values() -> None:
    assert sum(map(len, ENVIRONMENT)) < MAX_ENVIRONMENT_BYTES / 3
