"""A built package under Lambda's own runtime interface emulator, which the AWS SAM CLI brings along: no Docker."""

from __future__ import annotations

import json
import os
import platform
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

from e2e.emulator.process import ENVIRONMENT, ROOT

RIE = f"aws-lambda-rie-{ {'aarch64': 'arm64'}.get(platform.machine(), platform.machine()) }"
PLACE = ROOT / ".venv-sam" / "lib" / "python3.13" / "site-packages" / "samcli" / "local" / "rapid" / RIE
PATH = "/2015-03-31/functions/function/invocations"


@dataclass(frozen=True)
class Package:
    """What `infra/build.py` made of one agent: the function's zip and its layer's, as folders."""

    code: Path
    dependencies: Path

    @classmethod
    def build(cls, agent: Path, target: Path) -> Package:
        package = cls(target / "code", target / "dependencies")
        python = ROOT / ".venv-sam" / "bin" / "python"
        for part, folder in (("code", package.code), ("dependencies", package.dependencies)):
            folder.mkdir(parents=True)
            command = [str(python), str(ROOT / "infra" / "build.py"), part, str(agent), str(folder)]
            subprocess.run(command, check=True, capture_output=True)
        return package

    @property
    def path(self) -> str:
        """PYTHONPATH as the runtime sets it, with what the runtime itself holds at the end."""
        return f"{self.code}:{self.dependencies / 'python'}:{ENVIRONMENT / 'lambda-runtime'}"

    def files(self) -> set[tuple[str, int]]:
        """Every file and when it was written."""
        return {(str(path), path.stat().st_mtime_ns) for folder in (self.code, self.dependencies)
                for path in folder.rglob("*")}  # fmt: skip


@dataclass(frozen=True)
class Function:
    port: int

    def invoke(self, event: Mapping[str, Any]) -> Any:
        request = Request(f"http://127.0.0.1:{self.port}{PATH}", json.dumps(event).encode())
        with urlopen(request, timeout=120) as response:
            return json.load(response)


@contextmanager
def function(package: Package, log: Path, **variables: str) -> Iterator[Function]:
    """One function, one execution environment, as it is on Lambda: nothing but what Lambda sets, and `variables`."""
    port, api = _free_port(), _free_port()
    environment = {
        "PATH": "/usr/bin:/bin",
        "HOME": "/nonexistent",
        "LANG": "en_US.UTF-8",
        "TZ": ":UTC",
        "LAMBDA_TASK_ROOT": str(package.code),
        "PYTHONPATH": package.path,
        "AWS_EXECUTION_ENV": "AWS_Lambda_python3.13",
        "AWS_LAMBDA_FUNCTION_NAME": "agent",
        "AWS_LAMBDA_FUNCTION_TIMEOUT": "60",
        "AWS_LAMBDA_FUNCTION_MEMORY_SIZE": "1024",
        "AWS_LAMBDA_FUNCTION_VERSION": "$LATEST",
        **variables,
    }
    # -S: on Lambda the interpreter has no packages of its own.
    runtime = [str(Path(sys.executable).resolve()), "-S", "-m", "awslambdaric", "app.handler"]
    addresses = [
        "--runtime-interface-emulator-address",
        f"127.0.0.1:{port}",
        "--runtime-api-address",
        f"127.0.0.1:{api}",
    ]
    with log.open("w") as output:
        process = subprocess.Popen(
            [str(PLACE), "--log-level", "error", *addresses, *runtime],
            cwd=package.code,
            env=environment,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            _wait_for(port)
            yield Function(port)
        finally:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def _wait_for(port: int) -> None:
    end = time.monotonic() + 20
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
        except OSError:
            if time.monotonic() > end:
                raise
            time.sleep(0.05)
        else:
            return


def _free_port() -> int:
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        return int(server.getsockname()[1])
