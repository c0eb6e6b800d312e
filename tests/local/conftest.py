import time
from collections.abc import Callable, Iterator
from typing import Any
from uuid import uuid4

import httpx
import pytest

from agentfn.local.local_agent import LocalAgent
from support.agent_folder import write_agent_folder

# A short lease, so that progress is told soon: a run that saves nothing tells it when it renews its lease.
SCRIPTED = {"AGENT_MODEL": "scripted", "AGENTFN_LEASE_SECONDS": "5"}

Answer = dict[str, Any]


@pytest.fixture(scope="module")
def local(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalAgent]:
    """One local agent for all tests that do not change it."""
    folder = write_agent_folder(tmp_path_factory.mktemp("functions") / "clerk")
    with LocalAgent(folder, environment=SCRIPTED) as local:
        yield local


class Caller:
    """A JSON-RPC client over HTTP."""

    def __init__(self, local: LocalAgent, http: httpx.Client) -> None:
        self._url = local.url
        self.http = http
        http.headers["Authorization"] = f"Bearer {local.token}"
        http.headers["A2A-Version"] = "1.0"

    def rpc(self, method: str, params: Answer) -> Answer:
        body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        answer: Answer = self.http.post(self._url, json=body).raise_for_status().json()
        return answer

    def send(self, text: str, *, wait: bool) -> Answer:
        message = {"messageId": str(uuid4()), "role": "ROLE_USER", "parts": [{"text": text}]}
        params = {"message": message, "configuration": {"returnImmediately": not wait}}
        task: Answer = self.rpc("SendMessage", params)["result"]["task"]
        return task

    def get(self, task_id: str) -> Answer:
        task: Answer = self.rpc("GetTask", {"id": task_id})["result"]
        return task

    def watch(self, task_id: str, until: Callable[[Answer], bool]) -> Answer:
        """Polls until the task meets the condition or the test times out."""
        while not until(task := self.get(task_id)):
            time.sleep(0.02)
        return task


@pytest.fixture
def caller(local: LocalAgent) -> Iterator[Caller]:
    with httpx.Client(timeout=120) as http:
        yield Caller(local, http)
