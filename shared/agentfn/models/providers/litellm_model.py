"""A model that is called through litellm.

litellm is imported at the first request: the import costs seconds, and requests that only read never need it.

Its connections belong to the event loop on which they were opened. A process has one loop for its whole life, so they
stay open between invocations. On a second loop litellm opens new ones: call `aclose` before a loop ends.
"""

import asyncio
from collections.abc import AsyncGenerator
from typing import Any

from agentfn.errors import ModelUnavailable
from agentfn.models import profiles
from agentfn.models.error_mapping import map_provider_errors, map_timeouts
from agentfn.models.messages import ModelResponse, ToolCall
from agentfn.models.model import ModelRequest
from agentfn.models.openai_format import chat_messages, finish_reason, signed_thinking
from agentfn.models.optional_params import STREAM_OPTIONS, ChatRequest, request_options, retry_without_unsupported
from agentfn.models.prices import find_entry
from agentfn.models.providers.litellm_internals import (
    close_litellm,
    litellm_errors,
    load_litellm,
    response_cost,
    stop_stream_logging,
    without_logging,
)
from agentfn.models.providers.litellm_stream import closing_stream, final_response, read_chunk, to_usage
from agentfn.models.providers.provider_model import ProviderModel
from agentfn.models.stream_accumulator import StreamAccumulator

# litellm keeps one client for each timeout, so the timeout is always the same: the longest that Lambda allows.
LITELLM_TIMEOUT_SECONDS = 900.0


class LiteLLMModel(ProviderModel):
    """Calls `litellm.acompletion`."""

    async def generate(self, request: ModelRequest) -> ModelResponse:
        with map_timeouts(self.name, request.timeout):
            async with asyncio.timeout(request.timeout):
                litellm, chat_request = await self._build_request(request)
                with map_provider_errors(litellm_errors(litellm), chat_request):
                    response = _parse_response(await self._complete(litellm, chat_request))
        if response is None:
            raise ModelUnavailable(f"{self.name} sent an answer with nothing in it")
        return response

    async def stream(self, request: ModelRequest) -> AsyncGenerator[str | ModelResponse]:
        until = asyncio.get_running_loop().time() + request.timeout
        with map_timeouts(self.name, request.timeout):
            async with asyncio.timeout_at(until):
                litellm, chat_request = await self._build_request(request)
                with map_provider_errors(litellm_errors(litellm), chat_request):
                    chunks = await self._complete(litellm, chat_request | STREAM_OPTIONS)
            stop_stream_logging(chunks)
            accumulator = StreamAccumulator()
            async with closing_stream(chunks):
                while True:
                    async with asyncio.timeout_at(until):  # never around a yield: it would end the caller's wait
                        with map_provider_errors(litellm_errors(litellm), chat_request):
                            chunk = await anext(chunks, None)
                    if chunk is None:
                        break
                    if text := read_chunk(chunk, accumulator):
                        yield text
                response = final_response(chunks, accumulator)
        if response is None:
            raise ModelUnavailable(f"{self.name} broke off in the middle of its answer")
        yield response

    async def supports_tool_calls(self) -> bool:
        """What litellm's own data says. True where litellm is missing: the first request reports that."""
        try:
            litellm = await asyncio.to_thread(load_litellm)
        except ImportError:
            return True
        return profiles.supports_tool_calls(find_entry(litellm.model_cost, self.name))

    def warm_up(self) -> None:
        load_litellm()

    async def aclose(self) -> None:
        await close_litellm()

    async def _build_request(self, request: ModelRequest) -> tuple[Any, ChatRequest]:
        """litellm, and the arguments of its `acompletion`."""
        litellm, key = await asyncio.to_thread(lambda: (load_litellm(), self._api_key()))
        info = find_entry(litellm.model_cost, self.name)
        chat_request: ChatRequest = {
            "model": self.name,
            "messages": chat_messages(request, thinking=profiles.accepts_thinking(info, self.name)),
            "timeout": LITELLM_TIMEOUT_SECONDS,
            "max_retries": 0,
            "num_retries": 0,
            "drop_params": True,
            **request_options(request, with_schema=profiles.supports_schema(info)),
        }
        optional = {"api_key": key, "api_base": self._base_url}
        return litellm, chat_request | {name: value for name, value in optional.items() if value}

    async def _complete(self, litellm: Any, chat_request: ChatRequest) -> Any:
        async def send(chat_request: ChatRequest) -> Any:
            with without_logging(litellm):
                return await litellm.acompletion(**chat_request)

        return await retry_without_unsupported(send, chat_request, litellm_errors(litellm), self._unsupported)


def _parse_response(response: Any) -> ModelResponse | None:
    """litellm's ModelResponse as ours, None where it is empty.

    Ids stay as they come, missing and doubled ones too: the loop, which sees the whole transcript, corrects them.
    """
    if not getattr(response, "choices", None):
        return None
    choice = response.choices[0]
    calls = tuple(
        ToolCall(call.id or "", call.function.name or "", call.function.arguments or "")
        for call in choice.message.tool_calls or ()
    )
    thinking = signed_thinking(getattr(choice.message, "thinking_blocks", None) or ())
    usage = to_usage(response.usage, response_cost(response))
    return ModelResponse(
        choice.message.content or "", calls, usage, finish_reason(choice.finish_reason, calls), thinking
    )
