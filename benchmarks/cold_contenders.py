"""Who takes part in `cold.py` and `size.py`, each with an environment of its own."""

import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PEERS = Path(__file__).parent / "cold_peers"
ENVIRONMENTS = ROOT / ".venv-bench"
OURS = ROOT / "functions" / "analyst" / "requirements.txt"  # what is deployed, boto3 among it
# No tracing, no telemetry, nothing from the network but the stub's answer.
QUIET = {
    "AWS_EC2_METADATA_DISABLED": "true",
    "LITELLM_LOCAL_MODEL_COST_MAP": "True",
    "NO_PROXY": "127.0.0.1",
    "OPENAI_AGENTS_DISABLE_TRACING": "1",
    "OTEL_SDK_DISABLED": "true",
    "POWERTOOLS_LOG_LEVEL": "ERROR",
}
LITELLM = {"AGENT_MODEL": "openai/gpt-5", "AGENT_MODEL_PROVIDER": "litellm"}
DIRECT = {"AGENT_MODEL": "openai/gpt-5", "AGENT_MODEL_PROVIDER": "openai"}


@dataclass(frozen=True)
class Contender:
    """`driver` is a file in cold_peers/, `place` the environment's name and that of its pins, `protocol` A2A's version;
    without one there are no card and no tasks. `streams` says that the agent works while it streams, and only then;
    `stored` that tasks are in DynamoDB.
    """

    name: str
    driver: str
    place: str
    protocol: str = "0.3"
    asks: bool = True
    streams: bool = False
    stored: bool = False
    variables: Mapping[str, str] = field(default_factory=dict)

    @property
    def cases(self) -> tuple[str, ...]:
        return (*(("card", "get") if self.protocol else ("made",)), *(("question",) if self.asks else ()))


CONTENDERS = (
    Contender("the floor", "floor", "floor", "1.0", asks=False, stored=True),
    Contender("agentfn, direct door", "agentfn", "agentfn_direct", "1.0", stored=True, variables=DIRECT),
    Contender("agentfn, litellm", "agentfn", "agentfn", "1.0", stored=True, variables=LITELLM),
    Contender("agentfn, the analyst", "analyst", "agentfn", "1.0", stored=True, variables=LITELLM),
    Contender("a2a-sdk", "a2a_sdk", "a2a_sdk", "1.0"),
    Contender("lughus", "lughus", "lughus"),
    Contender("pydantic-ai-slim", "pydantic_ai", "pydantic_ai", "1.0", streams=True),
    Contender("strands-agents", "strands", "strands"),
    Contender("google-adk", "google_adk", "google_adk", "1.0"),
    Contender("openai-agents", "openai_agents", "openai_agents", protocol=""),
)


def pins_of(place: str) -> Path:
    return OURS if place == "agentfn" else PEERS / f"{place}.txt"


def named(contender: Contender) -> str:
    """With the version, where the contender is named after a distribution."""
    pins = pins_of(contender.place).read_text().splitlines()
    exact = next((line for line in pins if line.startswith(f"{contender.name}==")), contender.name)
    return exact.replace("==", " ")


def python_of(place: str) -> Path:
    """The interpreter of that environment, which is made where it is missing or has other versions.

    Raises CalledProcessError where the versions cannot be installed.
    """
    pins, home = pins_of(place), ENVIRONMENTS / f"cold-{place}"
    python, installed = home / "bin" / "python", home / "installed.txt"
    if installed.exists() and installed.read_text() == pins.read_text():
        return python
    print(f"Installing {place} in {home} ...", file=sys.stderr)
    subprocess.run([sys.executable, "-m", "venv", "--clear", str(home)], check=True)
    quiet = ["--quiet", "--disable-pip-version-check", "--compile"]
    subprocess.run([str(python), "-m", "pip", "install", *quiet, "--requirement", str(pins)], check=True)
    installed.write_text(pins.read_text())
    return python


def environment(contender: Contender, aws: Mapping[str, str], model: str) -> dict[str, str]:
    """What the process sees. `model` is the address of the stub that answers in its place."""
    own = {name: os.environ[name] for name in ("PATH", "HOME", "LANG", "TMPDIR") if name in os.environ}
    ours = {"PYTHONPATH": str(ROOT / "shared"), "AGENTFN_AUTH": "none"} if contender.place.startswith("agentfn") else {}
    asked = {"COLD_MODEL_URL": model, "AGENT_MODEL_API_BASE": model, "AGENT_MODEL_API_KEY": "sk-cold"}
    return {**own, **QUIET, **aws, **asked, **ours, **contender.variables}
