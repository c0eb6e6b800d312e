"""What agentfn uses of litellm beyond its public API. A new version of litellm is checked against this module.

litellm logs each call, and counts a stream's tokens again, in tasks and threads that go on after the response: in a
process that may be frozen by then. Everything here that patches litellm prevents that.
"""

import gc
import importlib
import os
import sys
import warnings
from contextlib import AbstractContextManager
from functools import cache
from typing import Any

type ErrorTypes = tuple[type[Exception], ...]


@cache
def load_litellm() -> Any:
    """litellm, imported once, without the network and without a run of the garbage collector during the import."""
    os.environ.setdefault("LITELLM_OFFLINE_MODE", "true")  # else it fetches prices now, and headers at the first call
    os.environ.setdefault("LITELLM_MODE", "PRODUCTION")  # no reading of .env files
    collecting = gc.isenabled()
    gc.disable()
    try:
        litellm: Any = importlib.import_module("litellm")
    finally:
        if collecting:
            gc.enable()
    litellm.suppress_debug_info = True  # else it prints advice to stdout
    # Created here, where litellm's filters for pydantic's warnings are in force: a test run replaces them.
    litellm.ModelResponseStream(choices=[litellm.types.utils.StreamingChoices()])
    # litellm prepares a request in a thread, which a cancel cannot stop: its result is dropped, unsent.
    unsent = r"coroutine '.*(completion|async_streaming|native_output).*' was never awaited"
    warnings.filterwarnings("ignore", unsent, RuntimeWarning)
    return litellm


async def close_litellm() -> None:
    """Closes litellm's connections. The next request opens new ones."""
    litellm: Any = sys.modules.get("litellm")
    if litellm is not None:
        await litellm.close_litellm_async_clients()
        litellm.in_memory_llm_clients_cache.flush_cache()


def litellm_errors(litellm: Any) -> ErrorTypes:
    """The base class of litellm's exceptions."""
    return (litellm.exceptions.openai.OpenAIError,)


def without_logging(litellm: Any) -> AbstractContextManager[None]:
    """Around a call: litellm takes it for a part of another call, which it does not log."""
    context: AbstractContextManager[None] = litellm._internal_context.internal_sub_call()
    return context


def stop_stream_logging(stream: Any) -> None:
    """Removes what litellm does at the end of a stream and with each of its chunks.

    litellm logs the stream and counts its tokens; and it reads every attribute of a chunk with usage, deprecated ones
    too, to remove the usage.
    """

    async def end(**_: Any) -> None:
        raise StopAsyncIteration

    def keep(chunk: Any) -> Any:
        stream.chunks.append(chunk)
        return chunk

    stream._finalize_completed_stream = end
    stream._dispatch_stream_failure = lambda *_: None
    stream._record_and_strip_usage_chunk = keep


def response_cost(response: Any) -> float | None:
    """US dollars of a response that was not streamed."""
    cost: float | None = response._hidden_params.get("response_cost")
    return cost


def stream_cost(stream: Any, usage: Any) -> float | None:
    """US dollars of a stream with this usage, as litellm computes it for a response that was not streamed."""
    if usage is None:
        return None
    import litellm

    response = litellm.ModelResponse(model=stream.model, usage=usage)
    cost: float | None = stream.logging_obj.response_cost_calculator(result=response)
    return cost


def drop_references(stream: Any) -> None:
    """Lets the generators below the stream end."""
    vars(stream).clear()
