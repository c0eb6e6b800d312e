"""What a new user does wrong, and what he is told: one line, no traceback."""

import socket
from pathlib import Path

import pytest

from agentfn.local.local_agent import LocalAgent
from cli.conftest import Typed
from cli.stub_agent import StubAgent


@pytest.fixture
def deaf_url() -> str:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return f"http://127.0.0.1:{server.getsockname()[1]}"


def test_nobody_is_there(typed: Typed, deaf_url: str) -> None:
    code, _, complaint = typed("send", deaf_url, "hello")

    assert code == 1
    assert complaint.startswith(f"agentfn: no agent responds at {deaf_url} (")
    assert complaint.count("\n") == 1


def test_what_is_there_is_no_agent(typed: Typed, local: LocalAgent) -> None:
    code, _, complaint = typed("send", f"{local.url}/elsewhere", "hello", "--token", local.token)

    assert (code, "has no agent card: HTTP 404" in complaint) == (1, True)


def test_the_url_is_none(typed: Typed) -> None:
    assert typed("send", "localhost:8000", "hello") == (
        2,
        "",
        "agentfn: localhost:8000 is not an agent's URL, which begins with http:// or https://\n",
    )


@pytest.mark.parametrize("token", ["", "not-the-right-one"])
def test_the_token_is_wrong_or_missing(typed: Typed, local: LocalAgent, token: str) -> None:
    code, _, complaint = typed("send", local.url, "hello", "--token", token)

    assert code == 1
    assert complaint == (
        "agentfn: the agent rejected the token (HTTP 401); give the right one with --token or AGENTFN_TOKEN\n"
    )


def test_the_token_may_come_from_the_environment(
    typed: Typed, local: LocalAgent, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AGENTFN_TOKEN", local.token)

    assert typed("send", local.url, "hello")[0] == 0


def test_the_file_is_not_there_or_empty(typed: Typed, tmp_path: Path, deaf_url: str) -> None:
    (tmp_path / "empty.csv").touch()

    for name, complaint in {
        "nowhere.csv": "the file nowhere.csv cannot be read: No such file or directory",
        "empty.csv": "the file empty.csv is empty",
        ".": "the file . cannot be read: Is a directory",
    }.items():
        assert typed("send", deaf_url, "hello", "--file", name) == (2, "", f"agentfn: {complaint}\n")


def test_there_is_nothing_to_send(typed: Typed, deaf_url: str) -> None:
    code, _, complaint = typed("send", deaf_url, "  ")

    assert (code, "there is nothing to send" in complaint) == (2, True)


def test_the_agent_refuses_the_message(typed: Typed, local: LocalAgent) -> None:
    code, _, complaint = typed("send", local.url, "more", "--task", "no-such-task", "--token", local.token)

    assert code == 1
    assert complaint.startswith("agentfn: the agent rejected the request: ")


def test_the_message_is_too_large(typed: Typed, local: LocalAgent) -> None:
    code, _, complaint = typed("send", local.url, "x" * 7_000_000, "--token", local.token)

    assert (code, "too large" in complaint) == (1, True)


def test_the_card_is_no_card(typed: Typed, other: StubAgent, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(StubAgent, "card", [])

    code, _, complaint = typed("send", other.url, "hello")

    assert (code, "the agent card at" in complaint) == (1, True)


def test_the_output_is_a_file(typed: Typed, tmp_path: Path, folder: Path, deaf_url: str) -> None:
    (tmp_path / "out").touch()

    for words in (("send", deaf_url, "hi"), ("demo", folder, "--question", "hi")):
        assert typed(*words, "--output", "out") == (2, "", "agentfn: out is a file; --output names a folder\n")


@pytest.mark.parametrize("command", [("dev",), ("demo", "--question", "hi")])
def test_the_folder_is_no_agents(typed: Typed, tmp_path: Path, command: tuple[str, ...]) -> None:
    (tmp_path / "empty").mkdir()

    code, _, complaint = typed(command[0], "empty", *command[1:])
    assert (code, "empty has no app.py" in complaint) == (2, True)

    code, _, complaint = typed(command[0], "nowhere", *command[1:])
    assert (code, complaint) == (2, "agentfn: there is no folder nowhere\n")


def test_a_port_is_no_number(typed: Typed, folder: Path) -> None:
    code, _, complaint = typed("dev", folder, "--port", "http")

    assert (code, "http is not a port number" in complaint) == (2, True)
