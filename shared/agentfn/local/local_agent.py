"""Runs an agent on a laptop: its handler behind an HTTP server, a queue poller, and AWS emulated in this process."""

import json
import os
import secrets
import threading
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from agentfn.agent import Agent
from agentfn.aws_clients import aws_client
from agentfn.bootstrap import serve
from agentfn.lambda_handler import LambdaHandler
from agentfn.local.agent_folder import check_folder, import_path, load_app
from agentfn.local.embedded_aws import EmbeddedAws
from agentfn.local.execution_environments import ExecutionEnvironments
from agentfn.local.http_server import HttpServer
from agentfn.local.queue_poller import QueuePoller
from agentfn.settings import Settings

LOCAL_CALLER = "local"
MAX_ENVIRONMENTS = 8  # execution environments at the same time
MAX_QUEUE_CONCURRENCY = 4  # environments that handle queue messages, so that one is always free for requests


class LocalAgent:
    """A context manager that serves the agent of a folder at `url` to callers with `token`. One at a time in a process.

    The agent gets the process's environment, overridden by `environment` (AGENT_MODEL and so on). Storage and
    authentication are set here. `seconds` is the timeout of an invocation, as the function's timeout on Lambda. With
    `anonymous`, no token is needed.

    Raises ConfigurationError for a folder without an agent, a wrong setting, or a port in use.
    """

    agent: Agent

    def __init__(
        self,
        folder: Path,
        *,
        environment: Mapping[str, str] | None = None,
        port: int = 0,
        seconds: float = 900.0,
        anonymous: bool = False,
    ) -> None:
        self._anonymous = anonymous
        self._folder = check_folder(folder)
        self._extra_environment = dict(environment or {})
        self._port = port
        self._seconds = seconds
        self._stack = ExitStack()
        self._first_handler: LambdaHandler | None = None
        self._lock = threading.Lock()
        self.token = secrets.token_hex(24)
        self.url = ""

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            server = HttpServer(self._port)
            stack.callback(server.close)
            self.url = server.url
            stack.enter_context(import_path(self._folder))
            aws = stack.enter_context(EmbeddedAws())
            self._environment = self._build_environment(aws)
            environments = ExecutionEnvironments(
                self._create_handler, max_count=MAX_ENVIRONMENTS, seconds=self._seconds
            )
            stack.callback(environments.close)
            environments.start()
            serving = stack.enter_context(server.serve(environments))
            stack.callback(environments.close)  # closed first, so that no request delays the server's shutdown
            queue = aws_client("sqs")
            stack.enter_context(
                QueuePoller(queue, aws.resources.queue_url, environments, max_concurrency=MAX_QUEUE_CONCURRENCY)
            )
            stack.callback(serving.stop)
            self._stack = stack.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._stack.close()

    def _build_environment(self, aws: EmbeddedAws) -> dict[str, str]:
        ours = {
            "AGENTFN_AUTH": "none" if self._anonymous else "bearer",
            "AGENTFN_TOKENS": json.dumps({LOCAL_CALLER: self.token}),
            "AGENTFN_PUBLIC_URL": self.url,
            "AGENTFN_BASE_PATH": "",
        }
        return {
            "AGENTFN_STREAMING": "true",
            **os.environ,
            **self._extra_environment,
            **aws.resources.environment(),
            **ours,
        }

    def _create_handler(self) -> Any:
        """app.py's handler for the first environment, and a clone of it for each other one."""
        with self._lock:
            if self._first_handler is None:
                self.agent, handler = load_app(self._folder, self._environment)
                self._first_handler = (
                    handler if isinstance(handler, LambdaHandler) else serve(self.agent, self._load_settings())
                )
                return handler
        return self._first_handler.clone()

    def _load_settings(self) -> Settings:
        return Settings.load(self._environment)
