"""a2a-sdk 0.3.26 as a client: the last one before protocol 1.0, in an environment of its own."""
# mypy: ignore-errors
# The environment of the types has another version of a2a-sdk.

import uuid
from collections.abc import AsyncGenerator, Iterable
from typing import Any

import httpx
from a2a.client import A2ACardResolver, A2AClientHTTPError, ClientConfig, ClientFactory
from a2a.client.errors import A2AClientJSONRPCError
from a2a.types import (
    GetTaskPushNotificationConfigParams,
    Message,
    Part,
    PushNotificationConfig,
    Role,
    Task,
    TaskIdParams,
    TaskPushNotificationConfig,
    TaskQueryParams,
    TextPart,
)

from conformance.clients.client import UNKNOWN, CardInfo, Missing, OutgoingMessage, PushConfig, TaskUpdate
from conformance.clients.journey import run_journey
from conformance.clients.webhook import TOKEN

CODES = {
    -32001: "TaskNotFound",
    -32002: "TaskNotCancelable",
    -32003: "PushNotificationNotSupported",
    -32004: "UnsupportedOperation",
}
KINDS = {"status-update": "status", "artifact-update": "artifact"}


class Old:
    old = True

    async def meet(self, url: str, transport: str) -> CardInfo:
        self._http = httpx.AsyncClient(timeout=30)
        self._transport = transport
        self._card = card = await A2ACardResolver(self._http, url).get_agent_card()
        self._plain = self._client()
        transports = {card.preferred_transport, *(face.transport for face in card.additional_interfaces or [])}
        offers = card.capabilities
        return CardInfo(card.name, tuple(transports), bool(offers.streaming), bool(offers.push_notifications))

    def _client(self, streaming: bool = False, polling: bool = False, hook: str = "") -> Any:
        """How a message is sent is the client's matter here, not the message's."""
        config = ClientConfig(
            streaming,
            polling,
            httpx_client=self._http,
            supported_transports=[self._transport],
            push_notification_configs=[PushNotificationConfig(url=hook, token=TOKEN)] if hook else [],
        )
        return ClientFactory(config).create(self._card)

    async def send(self, said: OutgoingMessage) -> TaskUpdate:
        client = self._client(polling=not said.wait, hook=said.hook)
        return _event(await anext(client.send_message(_message(said))))

    async def stream(self, said: OutgoingMessage) -> AsyncGenerator[TaskUpdate]:
        async for event in self._client(streaming=True).send_message(_message(said)):
            yield _event(event)

    async def follow(self, task: str) -> AsyncGenerator[TaskUpdate]:
        async for event in self._client(streaming=True).resubscribe(TaskIdParams(id=task)):
            yield _event(event)

    async def get(self, task: str, history: int | None = None) -> TaskUpdate:
        return _task(await self._plain.get_task(TaskQueryParams(id=task, history_length=history)))

    async def listed(self, context: str) -> list[str]:
        raise Missing("not in 0.3")

    async def cancel(self, task: str) -> TaskUpdate:
        return _task(await self._plain.cancel_task(TaskIdParams(id=task)))

    async def set_hook(self, hook: PushConfig) -> PushConfig:
        config = PushNotificationConfig(id=hook.id, url=hook.url, token=TOKEN)
        wanted = TaskPushNotificationConfig(task_id=hook.task, push_notification_config=config)
        return _hook(await self._plain.set_task_callback(wanted))

    async def get_hook(self, task: str, hook: str) -> PushConfig:
        wanted = GetTaskPushNotificationConfigParams(id=task, push_notification_config_id=hook)
        return _hook(await self._plain.get_task_callback(wanted))

    async def hooks(self, task: str) -> list[PushConfig]:
        found = await self._by_hand("list", {"id": task})
        return [_hook(TaskPushNotificationConfig.model_validate(config)) for config in found]

    async def delete_hook(self, task: str, hook: str) -> None:
        assert await self._by_hand("delete", {"id": task, "pushNotificationConfigId": hook}) is None

    async def _by_hand(self, name: str, params: dict[str, str]) -> Any:
        """The library has no call for it. The protocol has one in JSON-RPC."""
        if self._transport != "JSONRPC":
            raise Missing("the library has no call for it")
        request = {"jsonrpc": "2.0", "id": 1, "method": f"tasks/pushNotificationConfig/{name}", "params": params}
        return (await self._http.post(self._card.url, json=request)).json()["result"]

    def reason(self, error: Exception) -> str:
        """Over REST the library tells the status only: 404 is the one that says which error it was."""
        if isinstance(error, A2AClientJSONRPCError):
            return CODES[error.error.code]
        if isinstance(error, A2AClientHTTPError) and 400 <= error.status_code < 500:
            return "TaskNotFound" if error.status_code == 404 else UNKNOWN
        return ""


def _message(said: OutgoingMessage) -> Message:
    parts = [Part(root=TextPart(text=said.text))]
    begin = f"{said.begin}-{uuid.uuid4()}"
    return Message(message_id=begin, role=Role.user, parts=parts, task_id=said.task or None)


def _event(event: Any) -> TaskUpdate:
    if isinstance(event, Message):
        return TaskUpdate("message", event.task_id or "", event.context_id or "", text=_text(event.parts))
    task, update = event
    if update is None:
        return _task(task)
    state = update.status.state.value if update.kind == "status-update" else ""
    return TaskUpdate(KINDS[update.kind], update.task_id, update.context_id, state)


def _task(task: Task) -> TaskUpdate:
    history = task.history or []
    return TaskUpdate(
        "task",
        task.id,
        task.context_id,
        task.status.state.value,
        _text(task.status.message.parts) if task.status.message else "",
        len(history),
        tuple(_text(message.parts) for message in history if message.role == Role.user),
        frozenset(message.context_id for message in history),
    )


def _text(parts: Iterable[Part]) -> str:
    return "".join(part.root.text for part in parts if part.root.kind == "text")


def _hook(config: TaskPushNotificationConfig) -> PushConfig:
    inner = config.push_notification_config
    return PushConfig(inner.id or "", config.task_id, inner.url)


if __name__ == "__main__":
    run_journey(Old())
