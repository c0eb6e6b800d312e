"""Any model that litellm knows, by its model string.

litellm is imported at the first question: the import costs seconds, and the read side of an agent never needs it.

Its connections belong to the event loop they were opened on. A process has one loop for its whole life, so they stay
warm from one invocation to the next; on a second loop litellm opens new ones, and whoever ends a loop before the
process ends calls `close` on it first.
"""

import asyncio
import gc
import importlib
import os
import sys
import warnings
from collections.abc import AsyncGenerator
from functools import cache
from typing import Any

from agentfn.errors import ModelUnavailable
from agentfn.models import profiles
from agentfn.models.error_mapping import map_provider_errors, map_timeouts
from agentfn.models.messages import ModelResponse
from agentfn.models.model import ModelRequest
from agentfn.models.openai_format import chat_messages, response_from_litellm
from agentfn.models.optional_params import STREAM_OPTIONS, request_options, retry_without_unsupported
from agentfn.models.prices import find_entry
from agentfn.models.providers.litellm_stream import closing_stream, final_response, read_chunk, without_logging
from agentfn.models.providers.provider_model import ProviderModel
from agentfn.models.stream_accumulator import StreamAccumulator

# litellm keeps one client for each timeout it is told, so it is always told the same: the longest that Lambda allows.
LITELLM_TIMEOUT_SECONDS = 900.0


class LiteLLMModel(ProviderModel):
    """Asks through `litellm.acompletion`."""

    async def generate(self, prompt: ModelRequest) -> ModelResponse:
        with map_timeouts(self.name, prompt.timeout):
            async with asyncio.timeout(prompt.timeout):
                litellm, request = await self._build_request(prompt)
                with map_provider_errors(_litellm_errors(litellm), request):
                    spoken = response_from_litellm(await self._complete(litellm, request))
        if spoken is None:
            raise ModelUnavailable(f"{self.name} sent an answer with nothing in it")
        return spoken

    async def stream(self, prompt: ModelRequest) -> AsyncGenerator[str | ModelResponse]:
        until = asyncio.get_running_loop().time() + prompt.timeout
        with map_timeouts(self.name, prompt.timeout):
            async with asyncio.timeout_at(until):
                litellm, request = await self._build_request(prompt)
                with map_provider_errors(_litellm_errors(litellm), request):
                    chunks = without_logging(await self._complete(litellm, request | STREAM_OPTIONS))
            assembly = StreamAccumulator()
            async with closing_stream(chunks):
                while True:
                    async with asyncio.timeout_at(until):  # never around a yield: it would end the reader's wait
                        with map_provider_errors(_litellm_errors(litellm), request):
                            chunk = await anext(chunks, None)
                    if chunk is None:
                        break
                    if text := read_chunk(chunk, assembly):
                        yield text
                answer = final_response(chunks, assembly)
        if answer is None:
            raise ModelUnavailable(f"{self.name} broke off in the middle of its answer")
        yield answer

    async def supports_tool_calls(self) -> bool:
        """What litellm's own data says. A litellm that is missing is told at the first question."""
        try:
            litellm = await asyncio.to_thread(load_litellm)
        except ImportError:
            return True
        return profiles.supports_tool_calls(find_entry(litellm.model_cost, self.name))

    async def _build_request(self, prompt: ModelRequest) -> tuple[Any, dict[str, Any]]:
        """litellm, and what it is asked."""
        litellm, key = await asyncio.to_thread(lambda: (load_litellm(), self._api_key()))
        known = find_entry(litellm.model_cost, self.name)
        request: dict[str, Any] = {
            "model": self.name,
            "messages": chat_messages(prompt, thinking=profiles.accepts_thinking(known, self.name)),
            "timeout": LITELLM_TIMEOUT_SECONDS,
            "max_retries": 0,
            "num_retries": 0,
            "drop_params": True,
            **request_options(prompt, with_schema=profiles.supports_schema(known)),
        }
        optional = {"api_key": key, "api_base": self._base_url}
        return litellm, request | {name: value for name, value in optional.items() if value}

    async def _complete(self, litellm: Any, request: dict[str, Any]) -> Any:
        async def ask(request: dict[str, Any]) -> Any:
            # As a call inside another one: litellm then leaves out its own logging, which would hold the messages and
            # go on after the answer, in a process that may be frozen by then.
            with litellm._internal_context.internal_sub_call():
                return await litellm.acompletion(**request)

        return await retry_without_unsupported(ask, request, _litellm_errors(litellm), self._unsupported)


@cache
def load_litellm() -> Any:
    """litellm, imported once, without the network and without waking the garbage collector half-way."""
    os.environ.setdefault("LITELLM_OFFLINE_MODE", "true")  # it would fetch prices now, and headers at a first question
    os.environ.setdefault("LITELLM_MODE", "PRODUCTION")  # no reading of .env files
    collecting = gc.isenabled()
    gc.disable()
    try:
        litellm: Any = importlib.import_module("litellm")
    finally:
        if collecting:
            gc.enable()
    litellm.suppress_debug_info = True  # it prints advice to stdout otherwise
    # Built here, where litellm's filters for pydantic's warnings still hold: a test run puts its own in their place.
    litellm.ModelResponseStream(choices=[litellm.types.utils.StreamingChoices()])
    # It prepares a request in a thread, which a cancel cannot stop: what comes out is thrown away, unsent.
    unsent = r"coroutine '.*(completion|async_streaming|native_output).*' was never awaited"
    warnings.filterwarnings("ignore", unsent, RuntimeWarning)
    return litellm


async def close_litellm() -> None:
    """Ends all connections. The next question opens new ones."""
    litellm: Any = sys.modules.get("litellm")
    if litellm is not None:
        await litellm.close_litellm_async_clients()
        litellm.in_memory_llm_clients_cache.flush_cache()


def _litellm_errors(litellm: Any) -> tuple[type[Exception]]:
    """The root of litellm's exceptions."""
    return (litellm.exceptions.openai.OpenAIError,)
