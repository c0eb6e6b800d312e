"""Python functions as on Lambda: a process of its own under the real runtime client, seeing its package and boto3 only.

The emulator runs them inside its own environment, where a package that the build forgot is found all the same. Its
custom runtimes (`provided.*`) do speak the Runtime API, so Python functions are sent that way, with a bootstrap that
starts awslambdaric from the folder in E2E_LAMBDA_RUNTIME.
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path
from typing import Any

from ministack.core import lambda_runtime as runtime
from ministack.services import lambda_svc

# -S keeps the interpreter's own site-packages out: on Lambda there are none.
PYTHON = '#!/bin/sh\nexec {python} -S "$@"\n'
# A wrapper is given the command of Lambda's own client, and no path to it.
BOOTSTRAP = """#!/bin/sh
if [ -n "$AWS_LAMBDA_EXEC_WRAPPER" ]; then
    exec "$AWS_LAMBDA_EXEC_WRAPPER" "$E2E_PYTHON" /var/runtime/bootstrap.py
fi
export PYTHONPATH="$LAMBDA_TASK_ROOT${PYTHONPATH:+:$PYTHONPATH}:$LAMBDA_RUNTIME_DIR"
exec "$E2E_PYTHON" -m awslambdaric "$_HANDLER"
"""
FOR_THE_FUNCTION = ("AWS_LAMBDA_", "_HANDLER", "LAMBDA_TASK_ROOT")
CREDENTIALS = {"AWS_REGION", "AWS_DEFAULT_REGION", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"}


def put_in() -> None:
    _send_python_to_the_runtime_api()
    _start_the_runtime_client()


def _send_python_to_the_runtime_api() -> None:
    choose = runtime._worker_class_for
    execute = lambda_svc._execute_function_warm

    def worker_class(config: dict[str, Any]) -> Any:
        return runtime.ProvidedWorker if _is_python(config) else choose(config)

    def execute_warm(function: dict[str, Any], event: Any, request_id: str) -> Any:
        if _is_python(function.get("config") or function):
            return lambda_svc._execute_function_provided_warm(function, event, request_id)
        return execute(function, event, request_id)

    runtime._worker_class_for = worker_class
    lambda_svc._execute_function_warm = execute_warm


def _is_python(config: dict[str, Any]) -> bool:
    return str(config.get("Runtime", "")).startswith("python")


def _start_the_runtime_client() -> None:
    _script("python", PYTHON.format(python=Path(sys.executable).resolve()))  # the one behind the environment's link
    bootstrap = _script("bootstrap", BOOTSTRAP)
    unpack = lambda_svc._provided_runtime_code_dir
    environment = lambda_svc._provided_worker_env

    def code_folder(package: bytes) -> str:
        folder = str(unpack(package))
        link = Path(folder, "bootstrap")
        if not link.exists():
            link.symlink_to(bootstrap)
        return folder

    def worker_environment(config: dict[str, Any], folder: str, port: int) -> dict[str, str]:
        return _as_on_lambda(config, folder, environment(config, folder, port))

    lambda_svc._provided_runtime_code_dir = code_folder
    lambda_svc._provided_worker_env = worker_environment


def _script(name: str, text: str) -> Path:
    script = Path(tempfile.gettempdir(), name)
    script.write_text(text)
    script.chmod(0o755)
    return script


def _as_on_lambda(config: dict[str, Any], folder: str, offered: dict[str, str]) -> dict[str, str]:
    """Only what Lambda sets and what the template asked for; nothing of the emulator's own environment."""
    asked = (config.get("Environment") or {}).get("Variables") or {}
    kept = {
        name: value
        for name, value in offered.items()
        if name in asked or name in CREDENTIALS or name.startswith(FOR_THE_FUNCTION)
    }
    return {
        **kept,
        "PATH": "/usr/bin:/bin",
        "PYTHONPATH": ":".join(_layers(config)),
        "LANG": "en_US.UTF-8",
        "TZ": ":UTC",
        "HOME": "/nonexistent",
        "TMPDIR": tempfile.gettempdir(),
        "LAMBDA_RUNTIME_DIR": os.environ["E2E_LAMBDA_RUNTIME"],
        "AWS_LAMBDA_EXEC_WRAPPER": asked.get("AWS_LAMBDA_EXEC_WRAPPER", "").replace("/var/task", folder),
        "PYTHONDONTWRITEBYTECODE": "1",  # /var/task is read-only
        "AWS_EXECUTION_ENV": f"AWS_Lambda_{config['Runtime']}",
        "AWS_LAMBDA_LOG_GROUP_NAME": f"/aws/lambda/{config['FunctionName']}",
        "AWS_ENDPOINT_URL": os.environ["AWS_ENDPOINT_URL"],
        "E2E_PYTHON": str(Path(tempfile.gettempdir(), "python")),
    }


def _layers(config: dict[str, Any]) -> list[str]:
    """The folders that are /opt/python on Lambda."""
    zips = [lambda_svc._resolve_layer_zip(layer) for layer in config.get("Layers") or []]
    return [str(Path(lambda_svc._docker_extracted_dir(content, "layer"), "python")) for content in zips if content]
