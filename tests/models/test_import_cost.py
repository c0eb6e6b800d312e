"""What the import of a provider's client costs and touches, in a separate process."""

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
from agentfn.models.providers import bedrock_model, litellm_model, openai_model
from agentfn.testing import scripted_model
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

from agentfn.models import ModelRequest, Turn
from agentfn.models.providers.bedrock_model import BedrockModel
from agentfn.models.providers.litellm_internals import load_litellm
from agentfn.models.providers.litellm_model import LiteLLMModel
from agentfn.models.providers.openai_model import OpenAIModel

loop = asyncio.new_event_loop()
sys.addaudithook(watch)
classes = {"litellm": [LiteLLMModel] * 3, "direct": [OpenAIModel, BedrockModel]}[sys.argv[2]]
if LiteLLMModel in classes:
    load_litellm()
at_import = list(sockets)
schema = {"type": "object", "properties": {}, "additionalProperties": False}
request = ModelRequest("", (Turn("user", "Hi"),), schema=schema)

async def stream(model):
    return [item async for item in model.stream(request)][-1].text

texts = []
for model_class, (name, base_url) in zip(classes, json.loads(sys.argv[1]), strict=True):
    model = model_class(name, api_key=lambda: None if name.startswith("bedrock") else "sk", base_url=base_url)
    texts.append(loop.run_until_complete(model.generate(request)).text)
    texts.append(loop.run_until_complete(stream(model)))
    loop.run_until_complete(model.aclose())
loop.close()
seen = {"sockets": at_import, "hosts": list(hosts), "writes": writes, "texts": texts}
print(json.dumps(seen | {"litellm": "litellm" in sys.modules}))
"""


def test_models_import_no_client_before_their_first_request() -> None:
    assert _python(LIGHT).strip() == "set()"


@pytest.mark.parametrize(("client", "dialects"), [("litellm", DIALECTS), ("direct", ("openai", "bedrock"))])
def test_a_model_connects_to_its_provider_only_and_writes_only_to_the_temporary_folder(
    client: str, dialects: tuple[Dialect, ...], tmp_path: Path
) -> None:
    """Lambda's package folder cannot be written to and HOME does not exist. Warnings are errors here too."""
    with StubProvider(*[says("{}")] * 6) as provider:
        targets = json.dumps([(MODEL_NAMES[dialect], getattr(provider, dialect)) for dialect in dialects])
        seen: dict[str, Any] = json.loads(_python(WATCHED, targets, client, temporary=tmp_path))

    assert seen["texts"] == ["{}"] * 2 * len(dialects)
    assert (seen["sockets"], seen["hosts"]) == ([], ["127.0.0.1"])
    assert [path for path in seen["writes"] if not path.startswith((str(tmp_path), "/dev/"))] == []
    assert seen["litellm"] is (client == "litellm")


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
        timeout=240,
        check=False,
    )
    assert (ran.returncode, ran.stderr) == (0, "")
    return ran.stdout
