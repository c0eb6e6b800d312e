"""litellm's stream of chunks, read into a response."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from agentfn.models.messages import ModelResponse, Usage
from agentfn.models.providers.litellm_internals import drop_references, stream_cost
from agentfn.models.stream_accumulator import StreamAccumulator

CLOSE_TICKS = 20  # of the event loop; two for each of the generators that a stream is read through


def read_chunk(chunk: Any, accumulator: StreamAccumulator) -> str:
    """Adds a chunk to the accumulator. Returns the text in it."""
    delta = chunk.choices[0].delta if chunk.choices else None
    if delta is None:
        return ""
    for piece in delta.tool_calls or ():
        function = piece.function
        accumulator.add_tool_call(piece.index or 0, piece.id or "", function.name or "", function.arguments or "")
    for block in getattr(delta, "thinking_blocks", None) or ():
        accumulator.add_thinking(block)
    return accumulator.add_text(delta.content or "")


def final_response(stream: Any, accumulator: StreamAccumulator) -> ModelResponse | None:
    """None where the stream ended before the model did."""
    reason = stream.received_finish_reason or stream.intermittent_finish_reason
    if reason is None and not stream.received_any_finish_reason:
        return None
    usage = next((chunk.usage for chunk in reversed(stream.chunks) if getattr(chunk, "usage", None)), None)
    return accumulator.to_response(reason, to_usage(usage, stream_cost(stream, usage)))


def to_usage(usage: Any, cost: float | None) -> Usage:
    """litellm's usage as ours, zero where the provider sent none.

    `cost` is None where litellm knows no price: it says 0 of a new model whose family it knows.
    """
    if usage is None:
        return Usage()
    details = getattr(usage, "prompt_tokens_details", None)
    cached = getattr(details, "cached_tokens", None) or 0
    return Usage(usage.prompt_tokens or 0, usage.completion_tokens or 0, cached, cost or None)


@asynccontextmanager
async def closing_stream(stream: Any) -> AsyncIterator[None]:
    """Closes the stream, and lets the generators below it end: litellm leaves those of a response that was not read to
    its last byte open, and the event loop closes each in a task once nothing refers to it.
    """
    try:
        yield
    finally:
        await stream.aclose()
        drop_references(stream)
        for _ in range(CLOSE_TICKS):
            await asyncio.sleep(0)
