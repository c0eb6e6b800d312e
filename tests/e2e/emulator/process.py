"""The emulator as a process: everything on loopback, every file below one folder, gone with the test session."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen

ROOT = Path(__file__).resolve().parents[3]
ENVIRONMENT = ROOT / ".venv-emulator"
REGION = "us-east-1"
START_SECONDS = 60.0


@contextmanager
def emulator(folder: Path) -> Iterator[str]:
    """Yields the endpoint. The log stays in `folder`."""
    python = ENVIRONMENT / "bin" / "python"
    if not python.exists():
        raise FileNotFoundError(f"{python} is missing: run `python3.13 infra/tools.py emulator` first")
    temporary = folder / "tmp"
    shutil.rmtree(temporary, ignore_errors=True)
    temporary.mkdir(parents=True)
    port = _free_port()
    endpoint = f"http://127.0.0.1:{port}"
    with (folder / "emulator.log").open("w") as log:
        process = subprocess.Popen(
            [python, "-m", "e2e.emulator"],
            cwd=ROOT / "tests",
            env=_environment(port, endpoint, temporary),
            stdout=log,
            stderr=subprocess.STDOUT,
        )
        try:
            _wait_until_healthy(process, endpoint, folder / "emulator.log")
            yield endpoint
        finally:
            _stop(process)
            shutil.rmtree(temporary, ignore_errors=True)


def credentials(endpoint: str) -> dict[str, str]:
    """What an AWS client needs to talk to the emulator, and nothing of the user's own configuration."""
    return {
        "AWS_ENDPOINT_URL": endpoint,
        "AWS_ACCESS_KEY_ID": "test",
        "AWS_SECRET_ACCESS_KEY": "test",
        "AWS_DEFAULT_REGION": REGION,
        "AWS_REGION": REGION,
        "AWS_CONFIG_FILE": os.devnull,
        "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
        "AWS_EC2_METADATA_DISABLED": "true",
    }


def _environment(port: int, endpoint: str, temporary: Path) -> dict[str, str]:
    return {
        "PATH": os.environ["PATH"],
        "HOME": str(temporary),
        "TMPDIR": str(temporary),
        "STATE_DIR": str(temporary / "state"),
        "S3_DATA_DIR": str(temporary / "s3"),
        "BIND_HOST": "127.0.0.1",
        "GATEWAY_PORT": str(port),
        "AUTH": "true",
        "IOT_MTLS_ENABLED": "0",
        "LAMBDA_EXECUTOR": "local",
        "E2E_LAMBDA_RUNTIME": str(ENVIRONMENT / "lambda-runtime"),
        **credentials(endpoint),
    }


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _wait_until_healthy(process: subprocess.Popen[bytes], endpoint: str, log: Path) -> None:
    end = time.monotonic() + START_SECONDS
    while time.monotonic() < end:
        if process.poll() is not None:
            raise RuntimeError(f"the emulator ended at start; see {log}")
        try:
            with urlopen(f"{endpoint}/_ministack/health", timeout=2) as answer:
                if answer.status == 200:
                    return
        except (URLError, OSError):
            time.sleep(0.2)
    raise TimeoutError(f"the emulator is not healthy after {START_SECONDS:.0f} s; see {log}")


def _stop(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(15)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
