"""The base class of the models that call their provider by HTTP, without litellm."""

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
from agentfn.models.providers.http_client import close_clients, iter_body
from agentfn.models.providers.provider_model import ProviderModel

STREAM_END_SECONDS = 0.25  # how long a connection may take to end after its response; then it can be used again

type ParsedResponse = tuple[ModelResponse, TokenCounts]
type ErrorTypes = tuple[type[Exception], ...]


@dataclass(frozen=True)
class RequestSetup:
    """What a request needs that takes time to get: a secret, an import, the price list."""

    api_key: str | None
    sender: Any
    model_info: ModelInfo


class StreamDecoder(Protocol):
    """Decodes the body of a streamed response. `done` says that the response is complete."""

    done: bool

    def feed(self, piece: bytes) -> list[str]:
        """Decodes a piece of the body. Returns the texts in it. Raises ProviderError where it holds an error."""

    def result(self) -> ParsedResponse | None:
        """None where the stream ended before the model did."""


class HttpModel(ProviderModel, ABC):
    """A subclass builds the request, sends it and reads the response."""

    decoder: ClassVar[type[StreamDecoder]]
    api_key_variable: ClassVar[str]  # the environment variable with the provider's key, where no other key is set

    async def generate(self, request: ModelRequest) -> ModelResponse:
        with map_timeouts(self.name, request.timeout):
            async with asyncio.timeout(request.timeout):
                _, http_response = await self._send_with_fallback(request, streamed=False)
        with map_decode_errors(self.name):
            parsed = self._parse_response(json.loads(http_response.content))
        if parsed is None:
            raise ModelUnavailable(f"{self.name} sent an answer with nothing in it")
        return await self._with_usage(*parsed)

    async def stream(self, request: ModelRequest) -> AsyncGenerator[str | ModelResponse]:
        until = asyncio.get_running_loop().time() + request.timeout
        with map_timeouts(self.name, request.timeout):
            async with asyncio.timeout_at(until):
                chat_request, http_response = await self._send_with_fallback(request, streamed=True)
            decoder = self.decoder()
            async with aclosing(iter_body(http_response)) as body:
                while not decoder.done:
                    async with asyncio.timeout_at(until):  # never around a yield: it would end the caller's wait
                        with map_provider_errors(self._client_errors(), chat_request), map_decode_errors(self.name):
                            piece = await anext(body, None)
                            texts = [] if piece is None else decoder.feed(piece)
                    for text in texts:
                        yield text
                    if piece is None:
                        break
                with suppress(TimeoutError, *self._client_errors()):
                    async with asyncio.timeout(STREAM_END_SECONDS):
                        await anext(body, None)
        parsed = decoder.result()
        if parsed is None:
            raise ModelUnavailable(f"{self.name} broke off in the middle of its answer")
        yield await self._with_usage(*parsed)

    async def supports_tool_calls(self) -> bool:
        """What the price list says; True where the model is not in it."""
        return profiles.supports_tool_calls(await asyncio.to_thread(prices.model_info, self.name))

    async def aclose(self) -> None:
        await close_clients()

    @abstractmethod
    def _create_sender(self, api_key: str | None) -> Any:
        """What `_send` sends a request with. Called in a thread."""

    @abstractmethod
    def _build_request(self, request: ModelRequest, info: ModelInfo) -> ChatRequest:
        """The transcript as `messages` and the parameters, in OpenAI's format."""

    @abstractmethod
    async def _send(self, setup: RequestSetup, chat_request: ChatRequest, *, streamed: bool) -> Any:
        """The `httpx.Response`, not yet read where it is streamed. Raises one of `_client_errors` for an error."""

    @abstractmethod
    def _client_errors(self) -> ErrorTypes: ...

    @abstractmethod
    def _parse_response(self, body: Any) -> ParsedResponse | None:
        """A response that is not streamed, None where it is empty."""

    async def _send_with_fallback(self, request: ModelRequest, *, streamed: bool) -> tuple[ChatRequest, Any]:
        setup = await asyncio.to_thread(self._prepare, request)
        chat_request = {"model": self.name, "api_key": setup.api_key, **self._build_request(request, setup.model_info)}
        chat_request |= STREAM_OPTIONS if streamed else {}
        errors = self._client_errors()
        with map_provider_errors(errors, chat_request):
            response = await retry_without_unsupported(
                lambda body: self._send(setup, body, streamed=streamed), chat_request, errors, self._unsupported
            )
        return chat_request, response

    def _prepare(self, request: ModelRequest) -> RequestSetup:
        """Reads the price list only where the request depends on it; else it is read after the response."""
        api_key = self._api_key() or os.environ.get(self.api_key_variable) or None
        needs_info = (request.schema and not request.tools) or request.sampling.reasoning_effort
        info = prices.model_info(self.name) if needs_info else {}
        return RequestSetup(api_key, self._create_sender(api_key), info)

    async def _with_usage(self, response: ModelResponse, counts: TokenCounts) -> ModelResponse:
        info = await asyncio.to_thread(prices.model_info, self.name) if counts != TokenCounts() else {}
        return replace(response, usage=prices.usage_of(counts, info))
