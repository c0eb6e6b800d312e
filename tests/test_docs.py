"""The docs: their code runs, their tables are complete, their links lead somewhere."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from agentfn.settings import Settings
from agentfn.testing import ScriptedModel, Stage

ROOT = Path(__file__).resolve().parents[1]
PAGES = [ROOT / "README.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").rglob("*.md"))]
ENVIRONMENT = {
    "AGENT_MODEL": "demo",
    "AGENTFN_TABLE": "t",
    "AGENTFN_BUCKET": "b",
    "AGENTFN_QUEUE_URL": "q",
    "AGENTFN_TOKENS": json.dumps({"me": "0123456789abcdef"}),
}


def blocks(page: Path) -> list[str]:
    return re.findall(r"```python\n(.*?)```", page.read_text(), re.DOTALL)


def test_the_readme_s_agent_and_its_test_run_as_they_are_written(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in ENVIRONMENT.items():
        monkeypatch.setenv(name, value)
    agent, test = blocks(ROOT / "README.md")
    assert agent.count("\n") - agent.count("\n\n") <= 24
    names: dict[str, Any] = {}
    exec(agent, names)
    exec(test, names)
    names["handler"].close()


def test_the_page_about_the_loop_runs_as_it_is_written() -> None:
    names: dict[str, Any] = {}
    for block in blocks(ROOT / "docs" / "loop.md"):
        exec(block, names)
    with Stage(names["Author"](), ScriptedModel("One\nTwo", "First.", "Second.")) as stage:
        task = stage.send("Write!")
    assert task["status"]["message"]["parts"][0]["text"] == "First.\n\nSecond."


def test_every_test_that_the_docs_name_is_there() -> None:
    named = {path for page in PAGES for path in re.findall(r"`(tests/[\w/]+(?:\.py)?)`", page.read_text())}
    assert [path for path in sorted(named) if not (ROOT / path).exists()] == []


def test_every_variable_has_its_line_in_the_docs() -> None:
    listed = set(re.findall(r"^\| `([A-Z_]+)`", (ROOT / "docs" / "settings.md").read_text(), re.MULTILINE))
    assert listed == Settings.variables().keys()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_between_pages_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\((?!https?:)([^)#]+)\)", page.read_text()):
        assert (page.parent / target).exists(), target


def test_every_make_target_that_the_docs_name_is_there() -> None:
    targets = set(re.findall(r"^([a-z0-9-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    named = {name for page in PAGES for name in re.findall(r"(?:`|^)make ([a-z0-9-]+)", page.read_text(), re.MULTILINE)}
    assert named <= targets
