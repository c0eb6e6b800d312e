"""The read side stays light: no litellm, no sockets, no writes to where Lambda forbids them."""

import os
import subprocess
import sys
import textwrap
from pathlib import Path

READ_SIDE = """
import os, sys

opened = []
def audit(event, args):
    if event == "socket.connect":
        opened.append(f"connects to {args[1]}")
    if event == "open" and isinstance(args[1], str) and set(args[1]) & set("wax+") and isinstance(args[0], str):
        if not args[0].startswith((os.environ["TMPDIR"], "/dev/null")):
            opened.append(f"writes {args[0]}")
sys.addaudithook(audit)

from agentfn import Agent
from agentfn.testing import ScriptedModel, Stage, calls
from agentfn.bootstrap.model_factory import create_model
from agentfn.settings import Settings

agent = Agent(name="clerk", description="A clerk.")
with Stage(agent, ScriptedModel("Hello.")) as stage:
    environment = {**stage.resources.environment(), "AGENT_MODEL": "openai/gpt-5", "AGENTFN_AUTH": "none"}
    create_model(agent, Settings.load(environment))
    stage.request("GET", "/.well-known/agent-card.json")
    task = stage.send("Hi!", wait=False)
    stage.get(task["id"])
    stage.rpc("ListTasks", {})
    stage.cancel(task["id"])
    stage.send("Hi!")
assert opened == [], opened
heavy = {"litellm", "openai", "anthropic", "tokenizers", "pandas"} & sys.modules.keys()
assert not heavy, heavy
print("light")
"""


def test_card_get_list_cancel_and_non_blocking_send_leave_litellm_alone(tmp_path: Path) -> None:
    environment = {
        **os.environ,
        "HOME": "/nonexistent",
        "TMPDIR": str(tmp_path),
        "PYTHONDONTWRITEBYTECODE": "1",
        "POWERTOOLS_LOG_LEVEL": "ERROR",
    }
    run = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(READ_SIDE)], env=environment, capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stderr
    assert run.stdout.strip().endswith("light")


def test_importing_agentfn_imports_no_model_client_and_no_aws_client() -> None:
    heavy = ("litellm", "openai", "boto3", "jsonschema", "moto")
    code = f"import sys, agentfn; print([name for name in {heavy} if name in sys.modules])"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"
