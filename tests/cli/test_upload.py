"""`agentfn send` with files that no message holds."""

import hashlib
import os
import re
from pathlib import Path
from typing import Any

import pytest

from agentfn.local.local_agent import LocalAgent
from cli.conftest import Typed
from cli.stub_agent import ScriptedResponse, StubAgent, make_task
from support.agent_folder import APP_SOURCE, write_agent_folder

WEIGHER = APP_SOURCE.replace(
    "@tool(idempotent=True)\ndef meet()",
    '''@tool(idempotent=True)
def weigh(file: InputFile) -> str:
    """Tells what a file is."""
    import hashlib

    return f"{file.name} {file.stat().st_size} {hashlib.sha256(file.read_bytes()).hexdigest()}"


@tool(idempotent=True)
def meet()''',
).replace("Context, File,", "Context, File, InputFile,")
WEIGHER = WEIGHER.replace("tools=[draw,", "tools=[weigh, draw,").replace(
    'case "ask":', 'case "weigh":\n            return calls("weigh", file=rest.split()[0])\n        case "ask":'
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_agent_folder(tmp_path_factory.mktemp("functions") / "weigher", WEIGHER)


def test_a_large_file_goes_past_the_function_and_reaches_the_tool(
    typed: Typed, local: LocalAgent, tmp_path: Path
) -> None:
    content = os.urandom(5_000_000)
    (tmp_path / "größe.bin").write_bytes(content)
    (tmp_path / "small.csv").write_bytes(b"a,b")
    files = ("--file", "größe.bin", "--file", "small.csv")
    code, said, complaint = typed("send", local.url, "weigh größe.bin", *files, f"--token={local.token}")
    assert (code, complaint) == (0, "")
    assert "größe.bin is uploaded" in said
    assert "small.csv is uploaded" not in said
    assert f"größe.bin 5000000 {hashlib.sha256(content).hexdigest()}" in said


def test_the_page_s_example_runs_as_it_is_written(local: LocalAgent) -> None:
    page = (Path(__file__).parents[2] / "docs" / "files.md").read_text()
    [example] = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    names: dict[str, Any] = {"url": local.url, "token": local.token}
    exec(example, names)
    assert "- large.csv (text/csv, 8,000,000 bytes)" in str(names["task"]["status"]["message"])


def test_what_is_too_large_for_the_agent_is_not_sent(typed: Typed, local: LocalAgent, tmp_path: Path) -> None:
    with (tmp_path / "huge.bin").open("wb") as file:
        file.truncate(101 * 1024 * 1024)
    code, _, complaint = typed("send", local.url, "hello", "--file", "huge.bin", f"--token={local.token}")
    assert code == 1
    assert (
        "does not accept an upload of huge.bin (HTTP 413: size: 105,906,176 bytes; 104,857,600 are allowed)"
        in complaint
    )


@pytest.mark.parametrize("answer", [404, {"url": "https://"}])
def test_an_agent_without_uploads_is_told_of_no_file(
    typed: Typed, other: StubAgent, tmp_path: Path, answer: ScriptedResponse
) -> None:
    (tmp_path / "large.bin").write_bytes(bytes(4_000_001))
    other.uploads.append(answer)
    code, _, complaint = typed("send", other.url, "hello", "--file", "large.bin", "--token", "secret-0123456789")
    assert code == 1
    assert complaint.startswith("agentfn: the agent does not accept an upload of large.bin (HTTP ")
    assert complaint.count("\n") == 1


def test_the_token_stays_with_the_agent(typed: Typed, other: StubAgent, tmp_path: Path) -> None:
    (tmp_path / "large.bin").write_bytes(bytes(4_000_001))
    offer = {"url": f"{other.url}/bucket", "fields": {"key": "k"}, "part": {"url": "upload:0123"}}
    other.uploads += [offer, {}]
    other.answers.append({"task": make_task("COMPLETED", text="There.")})
    assert typed("send", other.url, "go", "--file", "large.bin", "--token", "secret-0123456789")[0] == 0
    assert other.requests == [
        ("/.well-known/agent-card.json", "Bearer secret-0123456789"),
        ("/uploads", "Bearer secret-0123456789"),
        ("/bucket", ""),
        ("/", "Bearer secret-0123456789"),
    ]


def test_a_file_that_its_place_refuses_stops_the_message(typed: Typed, other: StubAgent, tmp_path: Path) -> None:
    (tmp_path / "large.bin").write_bytes(bytes(4_000_001))
    offer = {"url": f"{other.url}/bucket", "fields": {"key": "k"}, "part": {"url": "upload:0123"}}
    other.uploads += [offer, 403]
    code, _, complaint = typed("send", other.url, "go", "--file", "large.bin")
    assert (code, complaint) == (
        1,
        "agentfn: the upload of large.bin was rejected: HTTP 403\n",
    )
