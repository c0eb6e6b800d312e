"""The built package alone: no site-packages, no home folder, only what Lambda's runtime adds."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from e2e.a2a_client import AgentClient
from e2e.emulator.process import ROOT
from e2e.runtime_emulator import Package
from provider_stubs.clients import API_KEY, AWS_ENVIRONMENT, MODEL_NAMES
from provider_stubs.script import DIALECTS, Dialect, ScriptEntry, calls, fails, says
from provider_stubs.server import StubProvider

pytestmark = [pytest.mark.timeout(900)]

IMPORTS = (
    "a2a.types",
    "agentfn",
    "analyst",
    "analyst.tools",
    "boto3",
    "openpyxl",
)


@pytest.fixture
def package(analyst: AgentClient) -> Package:
    """The folders that the deployed function and its layer were made from."""
    built = ROOT / ".e2e" / "build" / "root" / "Analyst"
    return Package(built / "Function", built / "Dependencies")


def run(package: Package, code: str, *arguments: str, **variables: str) -> str:
    environment = {
        **variables,
        "PATH": "/usr/bin:/bin",
        "HOME": "/nonexistent",
        "PYTHONPATH": package.path,
        "PYTHONDONTWRITEBYTECODE": "1",
        "LITELLM_LOCAL_MODEL_COST_MAP": "True",
        "LITELLM_MODE": "PRODUCTION",
    }
    python = Path(sys.executable).resolve()
    command = [str(python), "-S", "-c", code, *arguments]
    finished = subprocess.run(command, env=environment, cwd="/", capture_output=True, text=True, check=False)
    assert finished.returncode == 0, finished.stderr[-3000:]
    return finished.stdout


def size(*folders: Path) -> int:
    return sum(path.stat().st_size for folder in folders for path in folder.rglob("*") if path.is_file())


@pytest.mark.parametrize("module", IMPORTS)
def test_it_holds_all_that_the_agent_imports(package: Package, module: str) -> None:
    run(package, f"import {module}")


def test_boto3_is_the_runtimes_own(package: Package) -> None:
    assert "lambda-runtime" in run(package, "import boto3; print(boto3.__file__)")


def test_everything_in_it_is_compiled_for_lambda(package: Package) -> None:
    folders = (package.code, package.dependencies)
    sources = [path for folder in folders for path in folder.rglob("*.py") if "__pycache__" not in path.parts]
    missing = [
        path for path in sources if not path.parent.joinpath("__pycache__", f"{path.stem}.cpython-313.pyc").exists()
    ]
    assert not missing


def test_the_folders_of_laptops_and_tests_stay_out(package: Package) -> None:
    for name in ("agentfn/cli", "agentfn/local", "agentfn/testing", "events", "tests", "Makefile", "requirements.txt"):
        assert not (package.code / name).exists()


def test_pruned_litellm_still_completes_streams_and_counts(package: Package) -> None:
    said = run(package, COMPLETE)
    assert said.split() == ["whole", "stream", "counted", *(["refused"] * 8)]


# The last line asks each provider at a port where nobody listens: its request was made, and only sending failed.
COMPLETE = """
import asyncio, litellm
asked = {"messages": [{"role": "user", "content": "hi"}]}
closed = {"api_base": "http://127.0.0.1:9", "api_key": "none", "max_retries": 0, "num_retries": 0, "timeout": 5}
own = {
    "azure": {"api_version": "2024-10-21"},
    "bedrock": {"aws_access_key_id": "none", "aws_secret_access_key": "none", "aws_region_name": "us-east-1"},
}
models = ("openai/m", "anthropic/claude-sonnet-4-5", "gemini/m", "mistral/m", "ollama_chat/m", "azure/m", "azure_ai/m")
unsent = (litellm.APIConnectionError, litellm.InternalServerError, litellm.ServiceUnavailableError, litellm.Timeout)

async def main():
    whole = await litellm.acompletion(model="openai/m", mock_response="whole", **asked)
    print(whole.choices[0].message.content)
    stream = await litellm.acompletion(model="openai/m", mock_response="stream", stream=True, **asked)
    print("".join([chunk.choices[0].delta.content or "" async for chunk in stream]))
    print("counted" if litellm.token_counter(model="gpt-4o", **asked) else "")
    for model in (*models, "bedrock/anthropic.claude-3-haiku"):
        try:
            await litellm.acompletion(model=model, **asked, **closed, **own.get(model.split("/")[0], {}))
        except unsent:
            print("refused")

litellm.suppress_debug_info = True
asyncio.run(main())
"""


@pytest.mark.parametrize("dialect", DIALECTS)
def test_pruned_litellm_speaks_every_dialect(package: Package, dialect: Dialect) -> None:
    look = calls(("call_1", "look", {}))
    lines: list[ScriptEntry] = [says("In France."), look, says("In France."), look, fails(429), fails(401)]
    code = Path(__file__).with_name("provider_probe.py").read_text()
    with StubProvider(*lines) as provider:
        key = "" if dialect == "bedrock" else API_KEY
        told = json.loads(run(package, code, MODEL_NAMES[dialect], getattr(provider, dialect), key, **AWS_ENVIRONMENT))
        assert provider.refusals == []
    assert told == {
        "texts": ["In France.", "", "In France.", ""],
        "calls": [[], ["look"], [], ["look"]],
        "tokens": 18,
        "priced": True,
        "calls_tools": True,
        "failures": ["ModelUnavailable", "ModelRequestRejected"],
    }


def test_a_change_of_the_code_uploads_kilobytes(package: Package) -> None:
    assert package.code.joinpath("agentfn", "runtime", "stream-wrapper").stat().st_mode & 0o111
    assert size(package.code) < 3_000_000  # before the zip


def test_a_package_stays_well_below_lambdas_limit(package: Package) -> None:
    assert size(package.code, package.dependencies) < 150 * 1024 * 1024


def test_an_agent_with_a_model_of_its_own_does_without_litellm(steps_package: Path) -> None:
    package = Package(steps_package.parent / "Function", steps_package.parent / "Dependencies")
    assert package.code.joinpath("agentfn").is_dir()
    layer = package.dependencies / "python"
    assert [name for name in ("litellm", "openai", "tiktoken") if layer.joinpath(name).exists()] == []
    assert size(package.code, package.dependencies) < 40 * 1024 * 1024


def test_it_can_be_built_for_arm(tmp_path: Path) -> None:
    python = ROOT / ".venv-sam" / "bin" / "python"
    places = [ROOT / "infra" / "build.py", "dependencies", ROOT / "functions" / "analyst", tmp_path]
    command = [str(python), *map(str, places), "--architecture", "arm64"]
    finished = subprocess.run(command, capture_output=True, text=True, check=False)
    assert finished.returncode == 0, finished.stderr
    assert "all arm64" in finished.stderr
