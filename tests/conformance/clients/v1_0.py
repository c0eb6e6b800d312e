"""a2a-sdk 1.3 as a client, in protocol 1.0 or, with --old, 0.3."""

import uuid
from collections.abc import AsyncGenerator, Iterable
from typing import Any

import httpx
from a2a.client import A2ACardResolver, ClientConfig, ClientFactory
from a2a.client import Client as SdkClient
from a2a.types import (
    CancelTaskRequest,
    DeleteTaskPushNotificationConfigRequest,
    GetTaskPushNotificationConfigRequest,
    GetTaskRequest,
    ListTaskPushNotificationConfigsRequest,
    ListTasksRequest,
    Message,
    Part,
    Role,
    SendMessageConfiguration,
    SendMessageRequest,
    StreamResponse,
    SubscribeToTaskRequest,
    Task,
    TaskPushNotificationConfig,
    TaskState,
    TaskStatus,
)
from a2a.utils.errors import A2AError

from conformance.clients.client import UNKNOWN, CardInfo, Missing, OutgoingMessage, PushConfig, TaskUpdate
from conformance.clients.journey import run_journey
from conformance.clients.webhook import TOKEN

KINDS = {"status_update": "status", "artifact_update": "artifact"}


class V1:
    def __init__(self, old: bool = False) -> None:
        self.old = old
        self._plain: SdkClient
        self._streaming: SdkClient

    async def meet(self, url: str, transport: str) -> CardInfo:
        card = await A2ACardResolver(httpx.AsyncClient(), url).get_agent_card()
        version = "0." if self.old else "1."
        spoken = [face for face in card.supported_interfaces if face.protocol_version.startswith(version)]
        del card.supported_interfaces[:]
        card.supported_interfaces.extend(spoken)

        def client(streaming: bool) -> SdkClient:
            http = httpx.AsyncClient(timeout=30)
            config = ClientConfig(streaming, httpx_client=http, supported_protocol_bindings=[transport])
            return ClientFactory(config).create(card)

        self._plain, self._streaming = client(streaming=False), client(streaming=True)
        offers = card.capabilities
        transports = tuple(face.protocol_binding for face in spoken)
        return CardInfo(card.name, transports, offers.streaming, offers.push_notifications)

    async def send(self, said: OutgoingMessage) -> TaskUpdate:
        return _event(await anext(aiter(self._plain.send_message(_request(said)))))

    async def stream(self, said: OutgoingMessage) -> AsyncGenerator[TaskUpdate]:
        async for event in self._streaming.send_message(_request(said)):
            yield _event(event)

    async def follow(self, task: str) -> AsyncGenerator[TaskUpdate]:
        async for event in self._streaming.subscribe(SubscribeToTaskRequest(id=task)):
            yield _event(event)

    async def get(self, task: str, history: int | None = None) -> TaskUpdate:
        return _task(await self._plain.get_task(GetTaskRequest(id=task, history_length=history)))

    async def listed(self, context: str) -> list[str]:
        if self.old:
            raise Missing("not in 0.3")
        return [task.id for task in (await self._plain.list_tasks(ListTasksRequest(context_id=context))).tasks]

    async def cancel(self, task: str) -> TaskUpdate:
        return _task(await self._plain.cancel_task(CancelTaskRequest(id=task)))

    async def set_hook(self, hook: PushConfig) -> PushConfig:
        wanted = TaskPushNotificationConfig(task_id=hook.task, id=hook.id, url=hook.url, token=TOKEN)
        return _hook(await self._plain.create_task_push_notification_config(wanted))

    async def get_hook(self, task: str, hook: str) -> PushConfig:
        wanted = GetTaskPushNotificationConfigRequest(task_id=task, id=hook)
        return _hook(await self._plain.get_task_push_notification_config(wanted))

    async def hooks(self, task: str) -> list[PushConfig]:
        wanted = ListTaskPushNotificationConfigsRequest(task_id=task)
        return [_hook(config) for config in (await self._plain.list_task_push_notification_configs(wanted)).configs]

    async def delete_hook(self, task: str, hook: str) -> None:
        wanted = DeleteTaskPushNotificationConfigRequest(task_id=task, id=hook)
        await self._plain.delete_task_push_notification_config(wanted)

    def reason(self, error: Exception) -> str:
        """In 0.3 over REST the library tells the status only: 404 is the one that says which error it was."""
        http = error.__cause__
        if self.old and isinstance(http, httpx.HTTPStatusError) and http.response.is_client_error:
            return "TaskNotFound" if http.response.status_code == 404 else UNKNOWN
        return type(error).__name__.removesuffix("Error") if isinstance(error, A2AError) else ""


def _request(said: OutgoingMessage) -> SendMessageRequest:
    message = Message(
        message_id=f"{said.begin}-{uuid.uuid4()}", role=Role.ROLE_USER, task_id=said.task, parts=[Part(text=said.text)]
    )
    hook = TaskPushNotificationConfig(url=said.hook, token=TOKEN) if said.hook else None
    configuration = SendMessageConfiguration(return_immediately=not said.wait, task_push_notification_config=hook)
    return SendMessageRequest(message=message, configuration=configuration)


def _event(event: StreamResponse) -> TaskUpdate:
    name = str(event.WhichOneof("payload"))
    payload: Any = getattr(event, name)
    if name == "task":
        return _task(payload)
    if name == "message":
        return TaskUpdate(name, payload.task_id, payload.context_id, text=_text(payload.parts))
    state = _state(payload.status) if name == "status_update" else ""
    return TaskUpdate(KINDS[name], payload.task_id, payload.context_id, state)


def _task(task: Task) -> TaskUpdate:
    return TaskUpdate(
        "task",
        task.id,
        task.context_id,
        _state(task.status),
        _text(task.status.message.parts),
        len(task.history),
        tuple(_text(message.parts) for message in task.history if message.role == Role.ROLE_USER),
        frozenset(message.context_id for message in task.history),
    )


def _state(status: TaskStatus) -> str:
    return TaskState.Name(status.state).removeprefix("TASK_STATE_").lower().replace("_", "-")


def _text(parts: Iterable[Part]) -> str:
    return "".join(part.text for part in parts)


def _hook(config: TaskPushNotificationConfig) -> PushConfig:
    return PushConfig(config.id, config.task_id, config.url)


if __name__ == "__main__":
    run_journey(V1())
