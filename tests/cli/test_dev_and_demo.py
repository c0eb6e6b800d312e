"""`agentfn dev` and `agentfn demo`, as they are run: in a process of their own."""

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import httpx

from cli.conftest import Typed

COMMAND = [sys.executable, "-W", "error", "-m", "agentfn.cli"]


def surroundings(**more: str) -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if not name.startswith("AGENT")} | more


def test_the_demo_shows_all_of_it_and_says_what_its_model_is(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "table.csv").write_text("a,b\n1,2\n")
    words = ["demo", str(folder), "--file", "table.csv", "--question", "draw page.html", "--output", "out"]

    done = subprocess.run([*COMMAND, *words], cwd=tmp_path, env=surroundings(), capture_output=True, text=True)

    assert (done.returncode, done.stderr) == (0, "")
    assert "`demo`: rules, not a language model. For a real one set AGENT_MODEL=" in done.stdout
    assert "open out/page.html" in done.stdout
    assert "sam deploy" in done.stdout
    assert '{"level"' not in done.stdout
    assert (tmp_path / "out" / "page.html").read_text() == "<svg/>"
    assert "INFO run ended" in (tmp_path / "out" / "agent.log").read_text()


def test_a_demo_whose_task_does_not_complete_fails(typed: Typed, folder: Path) -> None:
    code, said, complaint = typed("demo", folder, "--question", "break", "--model", "scripted")

    assert code == 1
    assert "Its model is scripted." in said
    assert "The task ended as failed" in said
    assert f"agentfn dev {folder}" in said
    assert complaint.startswith("ERROR run failed")
    assert "Traceback" not in complaint


def test_no_model_is_named(typed: Typed, folder: Path) -> None:
    code, _, complaint = typed("dev", folder)

    assert code == 2
    assert complaint.startswith("agentfn: no model: set AGENT_MODEL")
    assert "Traceback" not in complaint


def test_the_agent_has_no_demo_model(typed: Typed, tmp_path: Path) -> None:
    (tmp_path / "app.py").write_text(
        "from agentfn import Agent, serve\nagent = Agent(name='x', description='y')\nhandler = serve(agent)\n"
    )

    code, _, complaint = typed("demo", ".", "--question", "hi")

    assert (code, "has no demo model; set a real one" in complaint) == (2, True)


def test_dev_serves_until_it_is_interrupted(typed: Typed, folder: Path, tmp_path: Path) -> None:
    words = ["dev", str(folder), "--model", "scripted"]
    with subprocess.Popen(
        [*COMMAND, *words], cwd=tmp_path, env=surroundings(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stdout is not None
            said = ""
            while "Ctrl-C" not in said and (line := process.stdout.readline()):
                said += line
            ready = re.search(r"AGENTFN_TOKEN=(\S+)\n +agentfn send (\S+) ", said)
            assert ready is not None
            card = httpx.get(f"{ready[2]}/.well-known/agent-card.json", timeout=120).json()
            assert card["name"] == "clerk"
            code, answered, _ = typed("send", ready[2], "hello", "--token", ready[1])
            process.send_signal(signal.SIGINT)
            rest, log = process.communicate(timeout=120)
        except BaseException:
            process.kill()  # or the test would wait for it
            raise

    assert code == 0
    assert "Good day. hello" in answered
    assert (process.returncode, rest) == (0, "\nStopping.\n")
    assert "INFO run ended" in log
    assert "Traceback" not in log
