from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from agentfn.cli import send as sending
from agentfn.cli.main import main
from agentfn.local.local_agent import LocalAgent
from cli.stub_agent import StubAgent, stub_agent
from support.agent_folder import write_agent_folder

Typed = Callable[..., tuple[int, str, str]]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_agent_folder(tmp_path_factory.mktemp("functions") / "clerk")


@pytest.fixture(scope="module")
def local(folder: Path) -> Iterator[LocalAgent]:
    with LocalAgent(folder, environment={"AGENT_MODEL": "scripted"}) as local:
        yield local


@pytest.fixture
def other() -> Iterator[StubAgent]:
    with stub_agent() as one:
        yield one


@pytest.fixture
def typed(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Typed:
    """`typed("send", ...)` runs the command and returns its exit code and both outputs. Polling is fast."""
    for variable in ("AGENT_MODEL", "AGENTFN_TOKEN"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setattr(sending, "MIN_POLL_SECONDS", 0.02)
    monkeypatch.chdir(tmp_path)

    def run(*words: object) -> tuple[int, str, str]:
        try:
            code = main([str(word) for word in words])
        except SystemExit as ending:  # argparse
            code = int(ending.code or 0)
        said = capsys.readouterr()
        return code, said.out, said.err

    return run
