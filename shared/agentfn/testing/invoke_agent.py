"""One message to an agent, and its result."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from agentfn.agent import Agent
from agentfn.aws_clients import aws_client
from agentfn.models import Model
from agentfn.testing.stage import Stage

TERMINAL_STATES = {"COMPLETED", "FAILED", "REJECTED", "CANCELED"}


@dataclass(frozen=True)
class InvokeResult:
    """The task of a message. `status` is its state in lower case, such as "completed"; `text` is its status message.

    `files` holds the content of the artifacts by name. `task` is the task as a client gets it.
    """

    status: str
    text: str
    files: dict[str, bytes]
    task: dict[str, Any]

    def __str__(self) -> str:
        return self.text


def invoke(
    agent: Agent,
    message: str,
    files: Mapping[str, bytes | Path] | None = None,
    *,
    model: Model | None = None,
    **settings: Any,
) -> InvokeResult:
    """Sends one message through the agent's real handler, on an AWS in memory, and runs it until it ends or waits.

    `model` and `settings` are those of `Stage`.

        answer = invoke(agent, "What is 6 times 7?", model=ScriptedModel(calls("times", a=6, b=7), "42"))
        assert answer.text == "42"
    """
    content = {name: file.read_bytes() if isinstance(file, Path) else file for name, file in (files or {}).items()}
    with Stage(agent, model, **settings) as stage:
        task = stage.send(message, files=content)
        if not _is_settled(task):
            stage.drain_queue()
            task = stage.get(task["id"])
        parts = task["status"].get("message", {}).get("parts", [])
        text = "\n".join(part.get("text") or json.dumps(part.get("data")) for part in parts)
        status = task["status"]["state"].removeprefix("TASK_STATE_").lower()
        return InvokeResult(status, text, dict(map(_read_file, _artifact_parts(task))), task)


def _is_settled(task: dict[str, Any]) -> bool:
    return task["status"]["state"].removeprefix("TASK_STATE_") in TERMINAL_STATES | {"INPUT_REQUIRED", "AUTH_REQUIRED"}


def _artifact_parts(task: dict[str, Any]) -> list[dict[str, Any]]:
    return [part for artifact in task.get("artifacts", []) for part in artifact["parts"]]


def _read_file(part: dict[str, Any]) -> tuple[str, bytes]:
    """The name and the content behind a signed link; the content is empty where the link leads out of the bucket."""
    address = urlsplit(part["url"])
    bucket, _, region = address.netloc.partition(".s3.")
    content = (
        aws_client("s3").get_object(Bucket=bucket, Key=unquote(address.path[1:]))["Body"].read() if region else b""
    )
    return part["filename"], content
