"""The pages on durability: the tests that they name exist and their code works."""

import re
from pathlib import Path
from typing import Any

import pytest

from agentfn import Agent
from agentfn.testing import Stage
from conftest import status_text, task_state

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
NAMED = sorted(set(re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", (DOCS / "guarantees.md").read_text())))


def examples() -> dict[str, str]:
    """The page's code, by the class that it defines."""
    blocks = re.findall(r"```python\n(.*?)```", (DOCS / "executors.md").read_text(), re.DOTALL)
    return {name: block for block in blocks if (name := "".join(re.findall(r"^class (\w+)", block, re.MULTILINE)))}


def executor_of(name: str) -> Any:
    names: dict[str, Any] = {"serve": lambda agent, **served: (agent, served)}
    exec(examples()[name].replace("import Agent, serve", "import Agent"), names)
    return names["handler"]


@pytest.mark.parametrize(("path", "name"), NAMED)
def test_the_test_that_proves_a_promise_is_there(path: str, name: str) -> None:
    assert re.search(rf"^(async )?def {name}\(|^class {name}\b|^{name} = ", (ROOT / path).read_text(), re.MULTILINE)


def test_every_promise_names_what_proves_it() -> None:
    table = (DOCS / "guarantees.md").read_text().split("## Not guaranteed")[0]
    rows = [line for line in table.splitlines() if line.startswith("| ") and not line.startswith("| Guarantee |")]
    assert len(rows) > 10
    assert [row for row in rows if "::" not in row] == []


def test_the_readmes_promises_are_all_on_the_page() -> None:
    readme = (ROOT / "README.md").read_text().split("| Guarantee | How |")[1].split("\n\n")[0]
    promises = re.findall(r"^\| ([^|]+?) \|", readme, re.MULTILINE)
    page = (DOCS / "guarantees.md").read_text()
    assert [promise for promise in promises if f"**{promise}**" not in page] == []


def test_an_executor_of_the_sdk_alone_runs_as_it_is_written() -> None:
    agent, served = executor_of("WordCounter")
    with Stage(agent, **served) as stage:
        task = stage.send("two words", files={"a.txt": b"and three more"}, wait=False)
        stage.drain_queue()
        done = stage.get(task["id"])
    assert (task_state(done), status_text(done)) == ("completed", "5 words")
    assert [artifact["name"] for artifact in done["artifacts"]] == ["counts"]


def test_a_plain_function_runs_as_it_is_written() -> None:
    agent, served = executor_of("Plain")
    with Stage(agent, **served) as stage:
        task = stage.send("hello", wait=False)
        stage.drain_queue()
        assert status_text(stage.get(task["id"])) == "HELLO"


def test_the_example_for_a_framework_that_is_not_installed_is_at_least_python() -> None:
    code = examples()["Strands"]
    compile(code, "executors.md", "exec")
    assert "strands" in code
    assert isinstance(Agent, type)
