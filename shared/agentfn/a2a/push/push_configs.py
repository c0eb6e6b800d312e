"""Push notification configurations of a task: their validation, and the methods to set, read and delete them."""

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

MAX_CONFIG_COUNT = 10  # for one task
MAX_CONFIG_ID_CHARS, MAX_SECRET_CHARS = 128, 4_096
CATCH_UP_DELAY_SECONDS = 3.0  # then events that were written at the same time are delivered too


class WebhookClient(Protocol):
    """Posts to webhooks. If there are `hosts`, only they are allowed."""

    @property
    def hosts(self) -> tuple[str, ...]: ...

    @property
    def resolver(self) -> Resolver: ...

    async def check(self, url: str) -> None: ...

    async def post(self, url: str, body: bytes, headers: dict[str, str]) -> int: ...


@dataclass(frozen=True)
class PushConfigService:
    """Sets, reads and deletes configurations. `lookup_seconds` limits how long a webhook's name may take to resolve."""

    task_store: TaskStore
    queue: WorkQueue
    push_store: PushStore
    webhook_client: WebhookClient
    lookup_seconds: float = 5.0

    async def set(
        self, record: TaskRecord, config: TaskPushNotificationConfig, call: CallContext
    ) -> TaskPushNotificationConfig:
        """Stores a configuration. Raises InvalidParamsError for a URL that is not allowed, or one too many."""
        stored = await self.validate(config, record.task.id)
        others = [push for push in await self.push_store.list_all(record) if push.config.id != stored.id]
        if len(others) >= MAX_CONFIG_COUNT:
            raise InvalidParamsError(f"the task has {len(others)} push configurations; {MAX_CONFIG_COUNT} are allowed")
        try:
            await self.push_store.put(
                record,
                PushSubscription(stored, call.is_v0_3, delivered_version=record.version, agent_url=call.base_url),
            )
        except ConflictError:
            raise TaskNotFoundError from None
        job = PushJob(record.owner, record.task.id, record.version, self.task_store.clock(), stored.id)
        await self.queue.send(job, CATCH_UP_DELAY_SECONDS)
        return stored

    async def get(self, record: TaskRecord, config_id: str) -> TaskPushNotificationConfig:
        """Returns the configuration; the first one without an id, which clients of 0.3 may leave out."""
        configs = [push.config for push in await self.push_store.list_all(record) if config_id in ("", push.config.id)]
        if not configs:
            raise TaskNotFoundError(f"task {record.task.id} has no push configuration {config_id!r}")
        return configs[0]

    async def list(self, record: TaskRecord) -> list[TaskPushNotificationConfig]:
        return [push.config for push in await self.push_store.list_all(record)]

    async def delete(self, record: TaskRecord, config_id: str) -> None:
        if len(config_id) <= MAX_CONFIG_ID_CHARS:
            await self.push_store.delete(record, config_id)

    async def delivery_metadata(self, record: TaskRecord) -> dict[str, Any]:
        """Returns the task's metadata with the state of its deliveries: the last version, and whether it failed."""
        pushes = await self.push_store.list_all(record)
        states = {
            push.config.id: {"delivered": push.delivered_version, **({"failed": True} if push.has_failed else {})}
            for push in pushes
        }
        return {**read_metadata(record.task), "push": states}

    async def new_subscription(self, config: TaskPushNotificationConfig, call: CallContext) -> PushSubscription:
        """Validates a configuration that comes with a message, whose task may not exist yet."""
        return PushSubscription(await self.validate(config, ""), call.is_v0_3, agent_url=call.base_url)

    async def validate(self, config: TaskPushNotificationConfig, task_id: str) -> TaskPushNotificationConfig:
        """Returns the configuration to store; unchanged if there is no task id yet. Raises InvalidParamsError."""
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
        """Returns whether a name does not resolve now. It is accepted: each delivery resolves and checks it again."""
        if parse_ip_address(host) or (self.webhook_client.hosts and not matches_host(host, self.webhook_client.hosts)):
            return False
        try:
            async with asyncio.timeout(self.lookup_seconds):
                return not await self.webhook_client.resolver(host)
        except UnicodeError:
            return False  # not a valid name
        except (OSError, TimeoutError):
            return True


def _is_header_text(text: str) -> bool:
    return text.isascii() and (text.isprintable() or not text)
