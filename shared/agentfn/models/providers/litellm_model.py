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
from agentfn.models.error_mapping import told, translated
from agentfn.models.messages import Reply
from agentfn.models.model import Prompt
from agentfn.models.openai_format import messages, reply
from agentfn.models.optional_params import STREAMED, granted, options
from agentfn.models.prices import entry
from agentfn.models.providers.litellm_stream import closing, heard, silenced, whole
from agentfn.models.providers.provider_model import Hosted
from agentfn.models.stream_accumulator import Assembly

# litellm keeps one client for each timeout it is told, so it is always told the same: the longest that Lambda allows.
LONGEST = 900.0


class LitellmModel(Hosted):
    """Asks through `litellm.acompletion`."""

    async def ask(self, prompt: Prompt) -> Reply:
        with told(self.name, prompt.timeout):
            async with asyncio.timeout(prompt.timeout):
                litellm, request = await self._request(prompt)
                with translated(_errors(litellm), request):
                    spoken = reply(await self._answer(litellm, request))
        if spoken is None:
            raise ModelUnavailable(f"{self.name} sent an answer with nothing in it")
        return spoken

    async def stream(self, prompt: Prompt) -> AsyncGenerator[str | Reply]:
        until = asyncio.get_running_loop().time() + prompt.timeout
        with told(self.name, prompt.timeout):
            async with asyncio.timeout_at(until):
                litellm, request = await self._request(prompt)
                with translated(_errors(litellm), request):
                    chunks = silenced(await self._answer(litellm, request | STREAMED))
            assembly = Assembly()
            async with closing(chunks):
                while True:
                    async with asyncio.timeout_at(until):  # never around a yield: it would end the reader's wait
                        with translated(_errors(litellm), request):
                            chunk = await anext(chunks, None)
                    if chunk is None:
                        break
                    if text := heard(chunk, assembly):
                        yield text
                answer = whole(chunks, assembly)
        if answer is None:
            raise ModelUnavailable(f"{self.name} broke off in the middle of its answer")
        yield answer

    async def calls_tools(self) -> bool:
        """What litellm's own data says. A litellm that is missing is told at the first question."""
        try:
            litellm = await asyncio.to_thread(load)
        except ImportError:
            return True
        return profiles.calls_tools(entry(litellm.model_cost, self.name))

    async def _request(self, prompt: Prompt) -> tuple[Any, dict[str, Any]]:
        """litellm, and what it is asked."""
        litellm, key = await asyncio.to_thread(lambda: (load(), self._key()))
        known = entry(litellm.model_cost, self.name)
        request: dict[str, Any] = {
            "model": self.name,
            "messages": messages(prompt, thinking=profiles.remembers_thinking(known, self.name)),
            "timeout": LONGEST,
            "max_retries": 0,
            "num_retries": 0,
            "drop_params": True,
            **options(prompt, shaped=profiles.follows_schema(known)),
        }
        optional = {"api_key": key, "api_base": self._base}
        return litellm, request | {name: value for name, value in optional.items() if value}

    async def _answer(self, litellm: Any, request: dict[str, Any]) -> Any:
        async def ask(request: dict[str, Any]) -> Any:
            # As a call inside another one: litellm then leaves out its own logging, which would hold the messages and
            # go on after the answer, in a process that may be frozen by then.
            with litellm._internal_context.internal_sub_call():
                return await litellm.acompletion(**request)

        return await granted(ask, request, _errors(litellm), self._lacking)


@cache
def load() -> Any:
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


async def close() -> None:
    """Ends all connections. The next question opens new ones."""
    litellm: Any = sys.modules.get("litellm")
    if litellm is not None:
        await litellm.close_litellm_async_clients()
        litellm.in_memory_llm_clients_cache.flush_cache()


def _errors(litellm: Any) -> tuple[type[Exception]]:
    """The root of litellm's exceptions."""
    return (litellm.exceptions.openai.OpenAIError,)
