"""Push configurations: who wants to be told of a task, as its owner sets it."""

import asyncio
from dataclasses import dataclass
from typing import Any, Protocol

from a2a.types import TaskPushNotificationConfig
from a2a.utils.errors import InvalidParamsError, TaskNotFoundError

from agentfn.call_context import CallContext
from agentfn.errors import ConflictError, FileRejected
from agentfn.fetch.address_policy import Resolver, matches_host, parse_ip_address, parse_url
from agentfn.runs.task_updates import read_metadata
from agentfn.runs.work_queue import PushJob, WorkQueue
from agentfn.store import TaskRecord, TaskStore
from agentfn.store.push_store import PushStore, PushSubscription, with_ids

MAX_CONFIG_COUNT = 10  # configurations of one task
MAX_CONFIG_ID_CHARS, MAX_SECRET_CHARS = 128, 4_096  # characters
CATCH_UP_DELAY_SECONDS = 3.0  # seconds until a new subscriber is told of what happened while he was written down


class WebhookClient(Protocol):
    """The guarded fetcher, as far as webhooks go. `hosts` are the only ones it reaches, if there are any."""

    @property
    def hosts(self) -> tuple[str, ...]: ...

    @property
    def resolver(self) -> Resolver: ...

    async def check(self, url: str) -> None: ...

    async def post(self, url: str, body: bytes, headers: dict[str, str]) -> int: ...


@dataclass(frozen=True)
class PushConfigService:
    """`look_up` is how many seconds a webhook's name has to resolve before it counts as unknown."""

    task_store: TaskStore
    queue: WorkQueue
    push_store: PushStore
    webhook_client: WebhookClient
    lookup_seconds: float = 5.0

    async def set(
        self, head: TaskRecord, config: TaskPushNotificationConfig, call: CallContext
    ) -> TaskPushNotificationConfig:
        """Raises InvalidParamsError for an address that nothing may be sent to, and for one subscriber too many."""
        wanted = await self.validate(config, head.task.id)
        others = [push for push in await self.push_store.list_all(head) if push.config.id != wanted.id]
        if len(others) >= MAX_CONFIG_COUNT:
            raise InvalidParamsError(f"the task has {len(others)} push configurations; {MAX_CONFIG_COUNT} are allowed")
        try:
            await self.push_store.put(
                head, PushSubscription(wanted, call.is_v0_3, delivered_version=head.version, agent_url=call.base_url)
            )
        except ConflictError:
            raise TaskNotFoundError from None
        message = PushJob(head.owner, head.task.id, head.version, self.task_store.clock(), wanted.id)
        await self.queue.send(message, CATCH_UP_DELAY_SECONDS)
        return wanted

    async def get(self, head: TaskRecord, config_id: str) -> TaskPushNotificationConfig:
        """An old client may leave the id out: he means the first one."""
        wanted = [push.config for push in await self.push_store.list_all(head) if config_id in ("", push.config.id)]
        if not wanted:
            raise TaskNotFoundError(f"task {head.task.id} has no push configuration {config_id!r}")
        return wanted[0]

    async def list(self, head: TaskRecord) -> list[TaskPushNotificationConfig]:
        return [push.config for push in await self.push_store.list_all(head)]

    async def delete(self, head: TaskRecord, config_id: str) -> None:
        if len(config_id) <= MAX_CONFIG_ID_CHARS:  # there is no other
            await self.push_store.delete(head, config_id)

    async def delivery_metadata(self, head: TaskRecord) -> dict[str, Any]:
        """What the task's metadata says of itself, and of how far its subscribers have been told."""
        pushes = await self.push_store.list_all(head)
        states = {
            push.config.id: {"delivered": push.delivered_version, **({"failed": True} if push.has_failed else {})}
            for push in pushes
        }
        return {**read_metadata(head.task), "push": states}

    async def new_subscription(self, config: TaskPushNotificationConfig, call: CallContext) -> PushSubscription:
        """Validates a configuration that comes with a message, whose task may not exist yet."""
        return PushSubscription(await self.validate(config, ""), call.is_v0_3, agent_url=call.base_url)

    async def validate(self, config: TaskPushNotificationConfig, task_id: str) -> TaskPushNotificationConfig:
        """The configuration as it is to be kept; without a task id, as it is for a task that is yet to come."""
        if not config.url:
            raise InvalidParamsError("the push configuration has no url")
        if len(config.id) > MAX_CONFIG_ID_CHARS:
            raise InvalidParamsError(f"the push configuration's id has more than {MAX_CONFIG_ID_CHARS} characters")
        secrets = (config.token, config.authentication.scheme, config.authentication.credentials)
        if any(len(secret) > MAX_SECRET_CHARS or not _is_header_text(secret) for secret in secrets):
            raise InvalidParamsError(
                "token, scheme and credentials are ASCII text of one line, at most 4,096 characters"
            )
        try:
            if not await self._is_unresolvable(parse_url(config.url).host):
                await self.webhook_client.check(config.url)
        except FileRejected as error:
            raise InvalidParamsError(f"the push configuration's url cannot be used: {error}") from None
        return with_ids(config, task_id) if task_id else config

    async def _is_unresolvable(self, host: str) -> bool:
        """Whether a name leads nowhere now. It may later: each delivery looks it up anew, and is guarded as ever."""
        if parse_ip_address(host) or (self.webhook_client.hosts and not matches_host(host, self.webhook_client.hosts)):
            return False
        try:
            async with asyncio.timeout(self.lookup_seconds):
                return not await self.webhook_client.resolver(host)
        except UnicodeError:
            return False  # no name at all, and never will be
        except (OSError, TimeoutError):
            return True


def _is_header_text(text: str) -> bool:
    return text.isascii() and (text.isprintable() or not text)
