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
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from functools import cache
from typing import Any

from agentfn.errors import ModelRefused, ModelUnavailable
from agentfn.models import capabilities
from agentfn.models.assembly import Assembly
from agentfn.models.door import Prompt
from agentfn.models.failures import disputed, translated
from agentfn.models.messages import messages, reply
from agentfn.models.turn import Reply

# litellm keeps one client for each timeout it is told, so it is always told the same: the longest that Lambda allows.
LONGEST = 900.0
TICKS = 20  # of the event loop; two for each of the generators that a stream is read through
STREAMED = {"stream": True, "stream_options": {"include_usage": True}}


class LitellmModel:
    """`key` is called at each question, in a thread, so that a secret is read late and its rotation is noticed."""

    def __init__(self, name: str, *, key: Callable[[], str | None] = lambda: None, base: str | None = None) -> None:
        self.name = name
        self._key = key
        self._base = base

    async def ask(self, prompt: Prompt) -> Reply:
        with self._told(prompt):
            async with asyncio.timeout(prompt.timeout):
                litellm, request = await self._request(prompt)
                with translated(litellm, request):
                    spoken = reply(await _answer(litellm, request))
        if spoken is None:
            raise ModelUnavailable(f"{self.name} sent an answer with nothing in it")
        return spoken

    async def stream(self, prompt: Prompt) -> AsyncGenerator[str | Reply]:
        until = asyncio.get_running_loop().time() + prompt.timeout
        with self._told(prompt):
            async with asyncio.timeout_at(until):
                litellm, request = await self._request(prompt)
                with translated(litellm, request):
                    chunks = _silenced(await _answer(litellm, request | STREAMED))
            assembly = Assembly()
            async with _closing(chunks):
                while True:
                    async with asyncio.timeout_at(until):  # never around a yield: it would end the reader's wait
                        with translated(litellm, request):
                            chunk = await anext(chunks, None)
                    if chunk is None:
                        break
                    if text := assembly.add(chunk):
                        yield text
                whole = assembly.reply(chunks)
        if whole is None:
            raise ModelUnavailable(f"{self.name} broke off in the middle of its answer")
        yield whole

    async def calls_tools(self) -> bool:
        """What litellm's own data says. A litellm that is missing is told at the first question."""
        try:
            return capabilities.calls_tools(await asyncio.to_thread(load), self.name)
        except ImportError:
            return True

    @contextmanager
    def _told(self, prompt: Prompt) -> Iterator[None]:
        try:
            yield
        except TimeoutError:
            raise ModelUnavailable(f"{self.name} did not answer within {prompt.timeout:g} s") from None
        except ImportError as error:
            raise ModelRefused(f"{self.name} needs the package {error.name}, which is not installed") from error

    async def _request(self, prompt: Prompt) -> tuple[Any, dict[str, Any]]:
        """litellm, and what it is asked."""
        litellm, key = await asyncio.to_thread(lambda: (load(), self._key()))
        request: dict[str, Any] = {
            "model": self.name,
            "messages": messages(prompt, thinking=capabilities.remembers_thinking(litellm, self.name)),
            "timeout": LONGEST,
            "max_retries": 0,
            "num_retries": 0,
            "drop_params": True,
            **prompt.sampling.options(),
        }
        if prompt.tools:
            request["tools"] = list(prompt.tools)
            if prompt.tool_choice != "auto":  # the default, which some servers refuse to be told
                request["tool_choice"] = prompt.tool_choice
        # Never beside tools: for some models litellm makes a forced call of it, which would shut the others out.
        elif prompt.schema and capabilities.follows_schema(litellm, self.name):
            request["response_format"] = capabilities.response_format(prompt.schema)
        optional = {"api_key": key, "api_base": self._base}
        return litellm, request | {name: value for name, value in optional.items() if value}


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


async def _answer(litellm: Any, request: dict[str, Any]) -> Any:
    """Asks, and asks again without a wish that the provider disputes."""
    while True:
        try:
            # As a call inside another one: litellm then leaves out its own logging, which would hold the messages and
            # go on after the answer, in a process that may be frozen by then.
            with litellm._internal_context.internal_sub_call():
                return await litellm.acompletion(**request)
        except litellm.exceptions.openai.OpenAIError as error:
            refused = disputed(request, error)
            if not refused:
                raise
            request = {name: value for name, value in request.items() if name not in refused}


def _silenced(stream: Any) -> Any:
    """The stream without what litellm does beside reading it.

    At its end litellm logs it and counts its tokens again, in tasks and threads that go on after the answer; and it
    looks at each attribute of a chunk with usage, deprecated ones too, to keep the usage from us.
    """

    async def ended(**_: Any) -> None:
        raise StopAsyncIteration

    def kept(chunk: Any) -> Any:
        stream.chunks.append(chunk)
        return chunk

    stream._finalize_completed_stream = ended
    stream._dispatch_stream_failure = lambda *_: None
    stream._record_and_strip_usage_chunk = kept
    return stream


@asynccontextmanager
async def _closing(stream: Any) -> AsyncIterator[None]:
    """Hangs up, and lets the generators beneath the stream end: nobody closes those of a response that was not read to
    its last byte, so that each is closed in a task once nothing holds it any more.
    """
    try:
        yield
    finally:
        await stream.aclose()
        vars(stream).clear()
        for _ in range(TICKS):
            await asyncio.sleep(0)
