"""What a journey needs of a client library, whatever its words for it."""

from collections.abc import AsyncGenerator
from dataclasses import dataclass
from typing import Protocol

TERMINAL_STATES = frozenset({"completed", "failed", "canceled", "rejected"})
UNKNOWN = "untold"  # why the agent refused, where the library shows the status of HTTP only


class Missing(Exception):
    """The protocol's version, the transport or the library does not have it."""


@dataclass(frozen=True)
class OutgoingMessage:
    """A message to the agent. What `begin`s its id decides what the test agent does; `hook` is a webhook's address."""

    text: str = "Hello."
    begin: str = "any"
    task: str = ""
    wait: bool = True
    hook: str = ""


@dataclass(frozen=True)
class TaskUpdate:
    """What an answer or a stream's event says: its `kind` is task, message, status or artifact.

    `state` is as in protocol 0.3. `turns` are the user's words in the history, `contexts` the ids in it.
    """

    kind: str
    task: str
    context: str
    state: str = ""
    text: str = ""
    history: int = 0
    turns: tuple[str, ...] = ()
    contexts: frozenset[str] = frozenset()


@dataclass(frozen=True)
class PushConfig:
    id: str
    task: str
    url: str


@dataclass(frozen=True)
class CardInfo:
    """What the card says, as the client reads it."""

    name: str
    transports: tuple[str, ...]
    streaming: bool
    push: bool


class Client(Protocol):
    """`old` is whether it speaks protocol 0.3. Each call raises the library's own errors, or Missing."""

    old: bool

    async def meet(self, url: str, transport: str) -> CardInfo:
        """Reads the card, and gets ready to speak in that transport."""
        ...

    async def send(self, said: OutgoingMessage) -> TaskUpdate: ...

    def stream(self, said: OutgoingMessage) -> AsyncGenerator[TaskUpdate]: ...

    def follow(self, task: str) -> AsyncGenerator[TaskUpdate]: ...

    async def get(self, task: str, history: int | None = None) -> TaskUpdate: ...

    async def listed(self, context: str) -> list[str]:
        """The ids of the context's tasks."""
        ...

    async def cancel(self, task: str) -> TaskUpdate: ...

    async def set_hook(self, hook: PushConfig) -> PushConfig: ...

    async def get_hook(self, task: str, hook: str) -> PushConfig: ...

    async def hooks(self, task: str) -> list[PushConfig]: ...

    async def delete_hook(self, task: str, hook: str) -> None: ...

    def reason(self, error: Exception) -> str:
        """The protocol's name of the agent's refusal, as TaskNotFound, or UNTOLD; empty for any other error."""
        ...
