"""What importing a provider's client costs and touches, in a process of its own."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from provider_stubs.clients import AWS_ENVIRONMENT, MODEL_NAMES
from provider_stubs.script import DIALECTS, Dialect
from provider_stubs.server import StubProvider, says

pytestmark = pytest.mark.slow

LIGHT = """
import sys
import agentfn.testing.scripted_model
from agentfn.models.providers import bedrock_model, litellm_model, openai_model
print({"litellm", "openai", "boto3"} & sys.modules.keys())
"""

# Everything that opens a socket or a file to write, before and after the first questions, and whom it asks.
WATCHED = """
import asyncio, json, os, sys
import urllib3  # binds a socket for a moment, to see whether the machine has IPv6

sockets, hosts, writes = [], set(), []

def watch(event, args):
    if event.startswith("socket."):
        sockets.append(event)
    if event == "socket.getaddrinfo":
        hosts.add(str(args[0]))
    elif event == "socket.connect":
        hosts.add(args[1][0])
    elif event == "open":
        path, mode, flags = args
        if flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT):
            writes.append(str(path))
    elif event in ("os.mkdir", "os.rename", "os.remove"):
        writes.append(str(args[0]))

from agentfn.models import Prompt, Turn, connections
from agentfn.models.providers.bedrock_model import BedrockModel
from agentfn.models.providers.litellm_model import LitellmModel, close, load
from agentfn.models.providers.openai_model import OpenAIModel

loop = asyncio.new_event_loop()
sys.addaudithook(watch)
ways = {"litellm": [LitellmModel] * 3, "direct": [OpenAIModel, BedrockModel]}[sys.argv[2]]
if LitellmModel in ways:
    load()
at_import = list(sockets)
schema = {"type": "object", "properties": {}, "additionalProperties": False}
prompt = Prompt("", (Turn("user", "Hi"),), schema=schema)

async def streamed(model):
    return [item async for item in model.stream(prompt)][-1].text

texts = []
for way, (name, base) in zip(ways, json.loads(sys.argv[1]), strict=True):
    model = way(name, key=lambda: None if name.startswith("bedrock") else "sk", base=base)
    texts.append(loop.run_until_complete(model.ask(prompt)).text)
    texts.append(loop.run_until_complete(streamed(model)))
loop.run_until_complete(close())
loop.run_until_complete(connections.close())
loop.close()
seen = {"sockets": at_import, "hosts": list(hosts), "writes": writes, "texts": texts}
print(json.dumps(seen | {"litellm": "litellm" in sys.modules}))
"""


def test_the_doors_are_light_until_they_are_asked() -> None:
    assert _python(LIGHT).strip() == "set()"


@pytest.mark.parametrize(("way", "dialects"), [("litellm", DIALECTS), ("direct", ("openai", "bedrock"))])
def test_a_door_asks_nobody_but_its_provider_and_writes_nothing_outside_the_temporary_folder(
    way: str, dialects: tuple[Dialect, ...], tmp_path: Path
) -> None:
    """Lambda's package folder cannot be written to and HOME does not exist. Warnings are errors here too."""
    with StubProvider(*[says("{}")] * 6) as provider:
        doors = json.dumps([(MODEL_NAMES[dialect], getattr(provider, dialect)) for dialect in dialects])
        seen: dict[str, Any] = json.loads(_python(WATCHED, doors, way, temporary=tmp_path))

    assert seen["texts"] == ["{}"] * 2 * len(dialects)
    assert (seen["sockets"], seen["hosts"]) == ([], ["127.0.0.1"])
    assert [path for path in seen["writes"] if not path.startswith((str(tmp_path), "/dev/"))] == []
    assert seen["litellm"] is (way == "litellm")


def _python(code: str, *args: str, temporary: Path | None = None) -> str:
    environment = {
        "HOME": "/nonexistent",
        "PYTHONDONTWRITEBYTECODE": "1",
        "TMPDIR": str(temporary or "/tmp"),
        **AWS_ENVIRONMENT,
    }
    ran = subprocess.run(
        [sys.executable, "-W", "error", "-c", code, *args],
        env=environment,
        capture_output=True,
        text=True,
        timeout=50,
        check=False,
    )
    assert (ran.returncode, ran.stderr) == (0, "")
    return ran.stdout
