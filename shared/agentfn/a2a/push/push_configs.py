"""Push configurations: who wants to be told of a task, as its owner sets it."""

import asyncio
from dataclasses import dataclass
from typing import Any, Protocol

from a2a.server.context import ServerCallContext
from a2a.types import TaskPushNotificationConfig
from a2a.utils.errors import InvalidParamsError, TaskNotFoundError
from google.protobuf.json_format import MessageToDict

from agentfn.errors import ConflictError, FileRefused
from agentfn.fetch.address_policy import Resolver, allowed, literal, read_url
from agentfn.runs.runner import Runner
from agentfn.runs.work_queue import PushJob
from agentfn.store import Head
from agentfn.store.push_store import Push, Pushes, named

MOST = 10  # configurations of one task
LONGEST_ID, LONGEST_SECRET = 128, 4_096  # characters
CATCH_UP = 3.0  # seconds until a new subscriber is told of what happened while he was written down


class Poster(Protocol):
    """The guarded fetcher, as far as webhooks go. `hosts` are the only ones it reaches, if there are any."""

    @property
    def hosts(self) -> tuple[str, ...]: ...

    @property
    def resolver(self) -> Resolver: ...

    async def check(self, url: str) -> None: ...

    async def post(self, url: str, body: bytes, headers: dict[str, str]) -> int: ...


@dataclass(frozen=True)
class Pushing:
    """`look_up` is how many seconds a webhook's name has to resolve before it counts as unknown."""

    runner: Runner
    pushes: Pushes
    poster: Poster
    look_up: float = 5.0

    async def set(
        self, head: Head, config: TaskPushNotificationConfig, context: ServerCallContext
    ) -> TaskPushNotificationConfig:
        """Raises InvalidParamsError for an address that nothing may be sent to, and for one subscriber too many."""
        wanted = await self.checked(config, head.task.id)
        others = [push for push in await self.pushes.all(head) if push.config.id != wanted.id]
        if len(others) >= MOST:
            raise InvalidParamsError(f"the task has {len(others)} push configurations; {MOST} are allowed")
        try:
            address = context.state["address"]
            await self.pushes.put(head, Push(wanted, speaks_old(context), sent=head.version, address=address))
        except ConflictError:
            raise TaskNotFoundError from None
        message = PushJob(head.owner, head.task.id, head.version, self.runner.tasks.clock(), wanted.id)
        await self.runner.queue.send(message, CATCH_UP)
        return wanted

    async def get(self, head: Head, config_id: str) -> TaskPushNotificationConfig:
        """An old client may leave the id out: he means the first one."""
        wanted = [push.config for push in await self.pushes.all(head) if config_id in ("", push.config.id)]
        if not wanted:
            raise TaskNotFoundError(f"task {head.task.id} has no push configuration {config_id!r}")
        return wanted[0]

    async def list(self, head: Head) -> list[TaskPushNotificationConfig]:
        return [push.config for push in await self.pushes.all(head)]

    async def delete(self, head: Head, config_id: str) -> None:
        if len(config_id) <= LONGEST_ID:  # there is no other
            await self.pushes.delete(head, config_id)

    async def told(self, head: Head) -> dict[str, Any]:
        """What the task's metadata says of itself, and of how far its subscribers have been told."""
        summary: dict[str, Any] = MessageToDict(head.task.metadata).get("agentfn", {})
        pushes = await self.pushes.all(head)
        states = {
            push.config.id: {"delivered": push.sent, **({"failed": True} if push.failed else {})} for push in pushes
        }
        return {**summary, "push": states}

    async def checked(self, config: TaskPushNotificationConfig, task_id: str) -> TaskPushNotificationConfig:
        """The configuration as it is to be kept; without a task id, as it is for a task that is yet to come."""
        if not config.url:
            raise InvalidParamsError("the push configuration has no url")
        if len(config.id) > LONGEST_ID:
            raise InvalidParamsError(f"the push configuration's id has more than {LONGEST_ID} characters")
        secrets = (config.token, config.authentication.scheme, config.authentication.credentials)
        if any(len(secret) > LONGEST_SECRET or not _sendable(secret) for secret in secrets):
            raise InvalidParamsError(
                "token, scheme and credentials are ASCII text of one line, at most 4,096 characters"
            )
        try:
            if not await self._unknown(read_url(config.url).host):
                await self.poster.check(config.url)
        except FileRefused as error:
            raise InvalidParamsError(f"the push configuration's url cannot be used: {error}") from None
        return named(config, task_id) if task_id else config

    async def _unknown(self, host: str) -> bool:
        """Whether a name leads nowhere now. It may later: each delivery looks it up anew, and is guarded as ever."""
        if literal(host) or (self.poster.hosts and not allowed(host, self.poster.hosts)):
            return False
        try:
            async with asyncio.timeout(self.look_up):
                return not await self.poster.resolver(host)
        except UnicodeError:
            return False  # no name at all, and never will be
        except (OSError, TimeoutError):
            return True


def speaks_old(context: ServerCallContext) -> bool:
    """Whether a request came in protocol 0.3: its JSON-RPC methods have a slash, its paths begin with /v1."""
    return "/" in context.state.get("method", "") or context.state.get("path", "").startswith("/v1/")


def _sendable(text: str) -> bool:
    return text.isascii() and (text.isprintable() or not text)
