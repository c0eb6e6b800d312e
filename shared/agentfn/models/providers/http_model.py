"""What the doors without litellm have in common: a question, its limits, its errors and its price."""

import asyncio
import json
import os
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator
from contextlib import aclosing, suppress
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Protocol

from agentfn.errors import ModelUnavailable
from agentfn.models import prices, profiles
from agentfn.models.error_mapping import legible, told, translated
from agentfn.models.messages import Reply
from agentfn.models.model import Prompt
from agentfn.models.optional_params import STREAMED, Request, granted
from agentfn.models.prices import Count, Known
from agentfn.models.providers.http_client import pieces
from agentfn.models.providers.provider_model import Hosted

GRACE = 0.25  # seconds that a connection gets to end after its answer did; then it can be used again

type Answer = tuple[Reply, Count]
type Errors = tuple[type[Exception], ...]


@dataclass(frozen=True)
class Ready:
    """What sending needs that takes a while to get: a secret, an import, the list of models."""

    key: str | None
    sender: Any
    known: Known


class Listener(Protocol):
    """Takes a streamed body as it comes. `over` says that all of the answer was heard."""

    over: bool

    def hear(self, piece: bytes) -> list[str]:
        """The texts in it. Raises Complaint where the provider tells of an error."""

    def answer(self) -> Answer | None:
        """None where the stream ended before the model did."""


class DirectModel(Hosted, ABC):
    """Asks its provider by HTTP."""

    listener: ClassVar[type[Listener]]
    variable: ClassVar[str]  # that holds the provider's key where no other is told

    async def ask(self, prompt: Prompt) -> Reply:
        with told(self.name, prompt.timeout):
            async with asyncio.timeout(prompt.timeout):
                _, response = await self._asked(prompt, streamed=False)
        with legible(self.name):
            answer = self._read(json.loads(response.content))
        if answer is None:
            raise ModelUnavailable(f"{self.name} sent an answer with nothing in it")
        return await self._priced(*answer)

    async def stream(self, prompt: Prompt) -> AsyncGenerator[str | Reply]:
        until = asyncio.get_running_loop().time() + prompt.timeout
        with told(self.name, prompt.timeout):
            async with asyncio.timeout_at(until):
                request, response = await self._asked(prompt, streamed=True)
            listener = self.listener()
            async with aclosing(pieces(response)) as body:
                while not listener.over:
                    async with asyncio.timeout_at(until):  # never around a yield: it would end the reader's wait
                        with translated(self._errors(), request), legible(self.name):
                            piece = await anext(body, None)
                            texts = [] if piece is None else listener.hear(piece)
                    for text in texts:
                        yield text
                    if piece is None:
                        break
                with suppress(TimeoutError, *self._errors()):
                    async with asyncio.timeout(GRACE):
                        await anext(body, None)
        answer = listener.answer()
        if answer is None:
            raise ModelUnavailable(f"{self.name} broke off in the middle of its answer")
        yield await self._priced(*answer)

    async def calls_tools(self) -> bool:
        """What litellm's list says, where there is one."""
        return profiles.calls_tools(await asyncio.to_thread(prices.known, self.name))

    @abstractmethod
    def _sender(self, key: str | None) -> Any:
        """Whatever a request is sent with. Called in a thread."""

    @abstractmethod
    def _request(self, prompt: Prompt, known: Known) -> Request:
        """The transcript as `messages` and the options, in OpenAI's words."""

    @abstractmethod
    async def _send(self, ready: Ready, request: Request, *, streamed: bool) -> Any:
        """The `httpx.Response`, unread where it is streamed. Raises one of `_errors` where it is none."""

    @abstractmethod
    def _errors(self) -> Errors: ...

    @abstractmethod
    def _read(self, shape: Any) -> Answer | None:
        """An answer that is not streamed, None where there is nothing in it."""

    async def _asked(self, prompt: Prompt, *, streamed: bool) -> tuple[Request, Any]:
        ready = await asyncio.to_thread(self._ready, prompt)
        request = {"model": self.name, "api_key": ready.key, **self._request(prompt, ready.known)}
        request |= STREAMED if streamed else {}
        with translated(self._errors(), request):
            response = await granted(
                lambda asked: self._send(ready, asked, streamed=streamed), request, self._errors(), self._lacking
            )
        return request, response

    def _ready(self, prompt: Prompt) -> Ready:
        """What is known of the model is looked up where something depends on it, else when its price is asked for."""
        key = self._key() or os.environ.get(self.variable) or None
        wanted = (prompt.schema and not prompt.tools) or prompt.sampling.reasoning_effort
        return Ready(key, self._sender(key), prices.known(self.name) if wanted else {})

    async def _priced(self, reply: Reply, count: Count) -> Reply:
        known = await asyncio.to_thread(prices.known, self.name) if count != Count() else {}
        return replace(reply, usage=prices.usage(count, known))
