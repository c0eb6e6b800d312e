"""A caller of a deployed agent: the official A2A client, as anyone would use it."""

from __future__ import annotations

import asyncio
import time
import uuid
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

import httpx
from a2a.client import A2ACardResolver, Client, ClientConfig, ClientFactory
from a2a.types import (
    AgentCard,
    CancelTaskRequest,
    GetTaskRequest,
    Message,
    Part,
    Role,
    SendMessageConfiguration,
    SendMessageRequest,
    StreamResponse,
    Task,
    TaskState,
)
from a2a.utils.constants import TransportProtocol

ENDED = {
    TaskState.TASK_STATE_COMPLETED,
    TaskState.TASK_STATE_FAILED,
    TaskState.TASK_STATE_CANCELED,
    TaskState.TASK_STATE_REJECTED,
}


@dataclass(frozen=True)
class AgentClient:
    """`url` is the agent's public address; `endpoint` is where the emulator answers for it."""

    endpoint: str
    url: str
    token: str = ""

    def http(self) -> httpx.AsyncClient:
        headers = {"Authorization": f"Bearer {self.token}"} if self.token else {}
        transport = ApiGateway(self.endpoint)
        return httpx.AsyncClient(transport=transport, headers=headers, timeout=60, follow_redirects=False)

    def post(self, body: str) -> httpx.Response:
        async def post() -> httpx.Response:
            async with self.http() as client:
                headers = {"Content-Type": "application/json", "A2A-Version": "1.0"}
                return await client.post(self.url, content=body, headers=headers)

        return asyncio.run(post())

    def card(self) -> AgentCard:
        async def read() -> AgentCard:
            async with self.http() as client:
                return await A2ACardResolver(client, self.url).get_agent_card()

        return asyncio.run(read())

    def send(self, text: str, *files: Part, wait: bool = True) -> Task:
        message = Message(role=Role.ROLE_USER, message_id=str(uuid.uuid4()), parts=[Part(text=text), *files])
        configuration = SendMessageConfiguration(return_immediately=not wait)
        request = SendMessageRequest(message=message, configuration=configuration)

        async def send(client: Client) -> Task:
            (answer,) = [answer async for answer in client.send_message(request)]
            return answer.task

        return self._with_client(send)

    def stream(self, text: str) -> list[tuple[float, StreamResponse]]:
        """All that is told of a new task, with the moments at which it came, in seconds of one clock."""
        message = Message(role=Role.ROLE_USER, message_id=str(uuid.uuid4()), parts=[Part(text=text)])

        async def follow(client: Client) -> list[tuple[float, StreamResponse]]:
            events = client.send_message(SendMessageRequest(message=message))
            return [(time.monotonic(), event) async for event in events]

        return self._with_client(follow, streaming=True)

    def get(self, task: Task) -> Task:
        return self._with_client(lambda client: client.get_task(GetTaskRequest(id=task.id)))

    def cancel(self, task: Task) -> Task:
        return self._with_client(lambda client: client.cancel_task(CancelTaskRequest(id=task.id)))

    def wait(self, task: Task, seconds: float, until: Callable[[Task], bool] | None = None) -> Task:
        """Polls until the task has ended, or until it is as asked for. Fails when that takes longer than `seconds`."""
        reached = until or (lambda task: task.status.state in ENDED)
        end = time.monotonic() + seconds
        while not reached(task):
            assert time.monotonic() < end, f"after {seconds:.0f} s the task is {TaskState.Name(task.status.state)}"
            time.sleep(1)
            task = self.get(task)
        return task

    def _with_client[T](self, action: Callable[[Client], Awaitable[T]], *, streaming: bool = False) -> T:
        async def run() -> T:
            async with self.http() as http:
                bindings = [TransportProtocol.JSONRPC.value]
                config = ClientConfig(streaming=streaming, httpx_client=http, supported_protocol_bindings=bindings)
                client = await ClientFactory(config).create_from_url(self.url)
                return await action(client)

        return asyncio.run(run())


class ApiGateway(httpx.AsyncHTTPTransport):
    """Plays DNS for `<api>.execute-api.<region>.amazonaws.com`, so that the card's addresses are used as they are."""

    def __init__(self, endpoint: str) -> None:
        super().__init__()
        self._endpoint = httpx.URL(endpoint)

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        api, _, rest = request.url.host.partition(".")
        if rest.startswith("execute-api."):
            path = f"/_aws/execute-api/{api}".encode() + request.url.raw_path
            request.url = self._endpoint.copy_with(raw_path=path)
            request.headers["Host"] = request.url.netloc.decode()
        return await super().handle_async_request(request)


def said(task: Task) -> str:
    """The text of the agent's last message."""
    return " ".join(part.text for part in task.status.message.parts)


def csv(name: str, content: bytes) -> Part:
    return Part(raw=content, filename=name, media_type="text/csv")
