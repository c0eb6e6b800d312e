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
from agentfn.models.error_mapping import map_decode_errors, map_provider_errors, map_timeouts
from agentfn.models.messages import ModelResponse
from agentfn.models.model import ModelRequest
from agentfn.models.optional_params import STREAM_OPTIONS, ChatRequest, retry_without_unsupported
from agentfn.models.prices import ModelInfo, TokenCounts
from agentfn.models.providers.http_client import iter_body
from agentfn.models.providers.provider_model import ProviderModel

STREAM_END_SECONDS = 0.25  # seconds that a connection gets to end after its answer did; then it can be used again

type ParsedResponse = tuple[ModelResponse, TokenCounts]
type ErrorTypes = tuple[type[Exception], ...]


@dataclass(frozen=True)
class RequestSetup:
    """What sending needs that takes a while to get: a secret, an import, the list of models."""

    api_key: str | None
    sender: Any
    model_info: ModelInfo


class StreamDecoder(Protocol):
    """Takes a streamed body as it comes. `over` says that all of the answer was heard."""

    done: bool

    def feed(self, piece: bytes) -> list[str]:
        """The texts in it. Raises Complaint where the provider tells of an error."""

    def result(self) -> ParsedResponse | None:
        """None where the stream ended before the model did."""


class HttpModel(ProviderModel, ABC):
    """Asks its provider by HTTP."""

    decoder: ClassVar[type[StreamDecoder]]
    api_key_variable: ClassVar[str]  # that holds the provider's key where no other is told

    async def generate(self, prompt: ModelRequest) -> ModelResponse:
        with map_timeouts(self.name, prompt.timeout):
            async with asyncio.timeout(prompt.timeout):
                _, response = await self._send_with_fallback(prompt, streamed=False)
        with map_decode_errors(self.name):
            answer = self._parse_response(json.loads(response.content))
        if answer is None:
            raise ModelUnavailable(f"{self.name} sent an answer with nothing in it")
        return await self._with_usage(*answer)

    async def stream(self, prompt: ModelRequest) -> AsyncGenerator[str | ModelResponse]:
        until = asyncio.get_running_loop().time() + prompt.timeout
        with map_timeouts(self.name, prompt.timeout):
            async with asyncio.timeout_at(until):
                request, response = await self._send_with_fallback(prompt, streamed=True)
            listener = self.decoder()
            async with aclosing(iter_body(response)) as body:
                while not listener.done:
                    async with asyncio.timeout_at(until):  # never around a yield: it would end the reader's wait
                        with map_provider_errors(self._client_errors(), request), map_decode_errors(self.name):
                            piece = await anext(body, None)
                            texts = [] if piece is None else listener.feed(piece)
                    for text in texts:
                        yield text
                    if piece is None:
                        break
                with suppress(TimeoutError, *self._client_errors()):
                    async with asyncio.timeout(STREAM_END_SECONDS):
                        await anext(body, None)
        answer = listener.result()
        if answer is None:
            raise ModelUnavailable(f"{self.name} broke off in the middle of its answer")
        yield await self._with_usage(*answer)

    async def supports_tool_calls(self) -> bool:
        """What litellm's list says, where there is one."""
        return profiles.supports_tool_calls(await asyncio.to_thread(prices.model_info, self.name))

    @abstractmethod
    def _create_sender(self, key: str | None) -> Any:
        """Whatever a request is sent with. Called in a thread."""

    @abstractmethod
    def _build_request(self, prompt: ModelRequest, known: ModelInfo) -> ChatRequest:
        """The transcript as `messages` and the options, in OpenAI's words."""

    @abstractmethod
    async def _send(self, ready: RequestSetup, request: ChatRequest, *, streamed: bool) -> Any:
        """The `httpx.Response`, unread where it is streamed. Raises one of `_errors` where it is none."""

    @abstractmethod
    def _client_errors(self) -> ErrorTypes: ...

    @abstractmethod
    def _parse_response(self, shape: Any) -> ParsedResponse | None:
        """An answer that is not streamed, None where there is nothing in it."""

    async def _send_with_fallback(self, prompt: ModelRequest, *, streamed: bool) -> tuple[ChatRequest, Any]:
        ready = await asyncio.to_thread(self._prepare, prompt)
        request = {"model": self.name, "api_key": ready.api_key, **self._build_request(prompt, ready.model_info)}
        request |= STREAM_OPTIONS if streamed else {}
        with map_provider_errors(self._client_errors(), request):
            response = await retry_without_unsupported(
                lambda asked: self._send(ready, asked, streamed=streamed),
                request,
                self._client_errors(),
                self._unsupported,
            )
        return request, response

    def _prepare(self, prompt: ModelRequest) -> RequestSetup:
        """What is known of the model is looked up where something depends on it, else when its price is asked for."""
        key = self._api_key() or os.environ.get(self.api_key_variable) or None
        wanted = (prompt.schema and not prompt.tools) or prompt.sampling.reasoning_effort
        return RequestSetup(key, self._create_sender(key), prices.model_info(self.name) if wanted else {})

    async def _with_usage(self, reply: ModelResponse, count: TokenCounts) -> ModelResponse:
        known = await asyncio.to_thread(prices.model_info, self.name) if count != TokenCounts() else {}
        return replace(reply, usage=prices.usage_of(count, known))
