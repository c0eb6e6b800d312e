import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from agentfn.local.embedded_aws import REGION, EmbeddedAws
from agentfn.local.lambda_events import rpc_event
from runtime.lambda_service import FunctionResponse, RuntimeApiServer
from runtime.task_root import write_task_root

TOKEN = "a-token-of-the-tests"


@dataclass
class Environment:
    """A process with the runtime client, and the Runtime API server that it calls."""

    service: RuntimeApiServer
    process: subprocess.Popen[bytes]
    log: Path

    def invoke(self, event: Any, seconds: float = 30.0, *, hang_up: bool = False, **headers: str) -> FunctionResponse:
        return self.service.invoke(event, seconds, hang_up=hang_up, **headers)

    def logged(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.log.read_text().splitlines() if line.startswith("{")]

    def close(self) -> None:
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(120)
        self.service.close()


Starting = Callable[..., Environment]


@pytest.fixture(scope="module")
def task_root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_task_root(tmp_path_factory.mktemp("task"))


@pytest.fixture(scope="module")
def start(task_root: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Starting]:
    """`start("app.handler", VARIABLE="…")` starts an execution environment."""
    with ExitStack() as stack:

        def start(handler: str, command: tuple[str, ...] | None = None, **environment: str) -> Environment:
            service = RuntimeApiServer()
            log = tmp_path_factory.mktemp("log") / "log"
            with log.open("wb") as file:
                process = subprocess.Popen(
                    command or (sys.executable, "-m", "agentfn.runtime"),
                    cwd=task_root,
                    env=_surroundings(service, task_root, handler) | environment,
                    stdout=file,
                    stderr=file,
                )
            made = Environment(service, process, log)
            stack.callback(made.close)
            return made

        yield start


def _surroundings(service: RuntimeApiServer, task_root: Path, handler: str) -> dict[str, str]:
    return {
        "PATH": os.environ["PATH"],
        "AWS_LAMBDA_RUNTIME_API": service.address,
        "LAMBDA_TASK_ROOT": str(task_root),
        "_HANDLER": handler,
        "AWS_LAMBDA_FUNCTION_NAME": "clerk",
        "AWS_LAMBDA_FUNCTION_VERSION": "7",
        "AWS_LAMBDA_FUNCTION_MEMORY_SIZE": "1769",
        "AWS_LAMBDA_LOG_GROUP_NAME": "/aws/lambda/clerk",
        "AWS_LAMBDA_LOG_STREAM_NAME": "2026/01/01/[7]abc",
        "AWS_LAMBDA_INITIALIZATION_TYPE": "on-demand",
        "AWS_REGION": REGION,
        "AWS_DEFAULT_REGION": REGION,
        "PYTHONDONTWRITEBYTECODE": "1",
    }


@pytest.fixture(scope="module")
def aws() -> Iterator[EmbeddedAws]:
    with EmbeddedAws("clerk") as aws:
        yield aws


@pytest.fixture(scope="module")
def of_the_agent(aws: EmbeddedAws) -> Mapping[str, str]:
    """The environment variables of the agent's function, as in the template."""
    return {
        "AWS_ENDPOINT_URL": aws.url,
        "AWS_ACCESS_KEY_ID": "local",
        "AWS_SECRET_ACCESS_KEY": "local",
        "AGENT_MODEL": "scripted",
        "AGENTFN_STREAMING": "true",
        "AGENTFN_TOKENS": json.dumps({"default": TOKEN}),
        **aws.resources.environment(),
    }


def message(text: str, method: str = "SendStreamingMessage") -> dict[str, Any]:
    """A caller's request to the agent."""
    params = {"message": {"messageId": str(uuid4()), "role": "ROLE_USER", "parts": [{"text": text}]}}
    return rpc_event(method, params, {"Authorization": f"Bearer {TOKEN}"})


def events(body: bytes) -> list[dict[str, Any]]:
    """The events of a stream of server-sent events."""
    lines = body.decode().splitlines()
    return [json.loads(line.removeprefix("data:"))["result"] for line in lines if line.startswith("data:")]
