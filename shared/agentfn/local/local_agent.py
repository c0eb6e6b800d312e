"""An agent on a laptop, all of it: its handler behind HTTP, its queue pumped, its AWS in this process."""

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
from agentfn.bootstrap import client
from agentfn.lambda_handler import Doors, serve
from agentfn.local.agent_folder import check_folder, importable, load
from agentfn.local.embedded_aws import EmbeddedAws
from agentfn.local.execution_environments import Environments
from agentfn.local.http_server import FrontDoor
from agentfn.local.queue_poller import QueuePump
from agentfn.settings import Settings

CALLER = "local"
MOST = 8  # execution environments
MOST_RUNS = 4  # of them at work on the queue, so that a request always finds one


class LocalAgent:
    """The agent of a folder, served inside a `with` at `url` to whoever has `token`. One at a time in a process.

    It sees the process's environment, with `environment` over it: AGENT_MODEL and so on. Where things are, and who may
    call, is decided here. `seconds` is how long an invocation may take, as the function's timeout says on Lambda. With
    `open_door`, whoever reaches this machine's loopback may call.

    Raises ConfigurationError for a folder without an agent, a setting that is wrong, a port that is taken.
    """

    agent: Agent

    def __init__(
        self,
        folder: Path,
        *,
        environment: Mapping[str, str] | None = None,
        port: int = 0,
        seconds: float = 900.0,
        open_door: bool = False,
    ) -> None:
        self._open_door = open_door
        self._folder = check_folder(folder)
        self._given = dict(environment or {})
        self._port = port
        self._seconds = seconds
        self._stack = ExitStack()
        self._doors: Doors | None = None
        self._lock = threading.Lock()
        self.token = secrets.token_hex(24)
        self.url = ""

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            door = FrontDoor(self._port)
            stack.callback(door.close)
            self.url = door.url
            stack.enter_context(importable(self._folder))
            aws = stack.enter_context(EmbeddedAws())
            self._environment = self._surroundings(aws)
            environments = Environments(self._new_process, most=MOST, seconds=self._seconds)
            stack.callback(environments.close)
            environments.start()
            serving = stack.enter_context(door.serving(environments))
            stack.callback(environments.close)  # first of all, so that no request holds the server up
            queue = client("sqs")
            stack.enter_context(QueuePump(queue, aws.resources.queue_url, environments, most=MOST_RUNS))
            stack.callback(serving.stop)
            self._stack = stack.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._stack.close()

    def _surroundings(self, aws: EmbeddedAws) -> dict[str, str]:
        ours = {
            "AGENTFN_AUTH": "none" if self._open_door else "bearer",
            "AGENTFN_TOKENS": json.dumps({CALLER: self.token}),
            "AGENTFN_PUBLIC_URL": self.url,
            "AGENTFN_BASE_PATH": "",
        }
        return {"AGENTFN_STREAMING": "true", **os.environ, **self._given, **aws.resources.environment(), **ours}

    def _new_process(self) -> Any:
        """The handler of app.py for the first environment; for each other one, the same agent served again."""
        with self._lock:
            if self._doors is None:
                self.agent, handler = load(self._folder, self._environment)
                self._doors = handler if isinstance(handler, Doors) else serve(self.agent, self._settings())
                return handler
        return self._doors.twin()

    def _settings(self) -> Settings:
        return Settings.load(self._environment)
