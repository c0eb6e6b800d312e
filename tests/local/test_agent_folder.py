"""What a folder must have to be an agent's, and how it is told."""

import os
import sys
from pathlib import Path

import pytest

from agentfn import ConfigurationError
from agentfn.local.agent_folder import import_path, load_app
from agentfn.local.local_agent import LocalAgent
from support.agent_folder import write_agent_folder


def loaded(folder: Path) -> None:
    with import_path(folder):
        load_app(folder, {"PATH": os.environ["PATH"]})


@pytest.mark.parametrize(
    ("app", "complaint"),
    [
        ("import nowhere_to_be_found\n", "cannot be imported: No module named 'nowhere_to_be_found'"),
        ("agent = 1\n", "no agent"),
        ("from agentfn import Agent\nagent = Agent(name='x', description='y')\n", "no handler"),
    ],
)
def test_an_app_that_cannot_be_served_says_what_is_missing(tmp_path: Path, app: str, complaint: str) -> None:
    with pytest.raises(ConfigurationError, match=complaint):
        loaded(write_agent_folder(tmp_path / "clerk", app))


def test_a_package_that_is_not_installed_is_looked_for_in_the_agents_requirements(tmp_path: Path) -> None:
    folder = write_agent_folder(tmp_path / "clerk", "import nowhere_to_be_found\n")
    (folder / "requirements.txt").touch()

    with pytest.raises(ConfigurationError, match=r"what it needs is in .*requirements\.txt"):
        loaded(folder)


def test_a_mistake_in_the_app_is_shown_as_python_shows_it(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError):
        loaded(write_agent_folder(tmp_path / "clerk", "1 / 0\n"))


def test_modules_of_the_same_names_come_back_when_the_agent_is_gone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mine = type(sys)("manners")
    monkeypatch.setitem(sys.modules, "manners", mine)
    folder = write_agent_folder(tmp_path / "clerk", "import json, manners\nassert manners.GREETING\n1 / 0\n")

    with pytest.raises(ZeroDivisionError):
        loaded(folder)

    assert sys.modules["manners"] is mine
    assert "app" not in sys.modules


def test_a_folder_that_was_built_for_lambda_is_not_taken_for_source(tmp_path: Path) -> None:
    (write_agent_folder(tmp_path / "clerk") / "agentfn").mkdir()

    with pytest.raises(ConfigurationError, match="sam build"):
        LocalAgent(tmp_path / "clerk")
