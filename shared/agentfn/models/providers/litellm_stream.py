"""What litellm streams, without what it does beside."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from agentfn.models.messages import ModelResponse
from agentfn.models.openai_format import usage_from_litellm
from agentfn.models.stream_accumulator import StreamAccumulator

CLOSE_TICKS = 20  # of the event loop; two for each of the generators that a stream is read through


def read_chunk(chunk: Any, assembly: StreamAccumulator) -> str:
    """The text in it."""
    delta = chunk.choices[0].delta if chunk.choices else None
    if delta is None:
        return ""
    for piece in delta.tool_calls or ():
        function = piece.function
        assembly.add_tool_call(piece.index or 0, piece.id or "", function.name or "", function.arguments or "")
    for block in getattr(delta, "thinking_blocks", None) or ():
        assembly.add_thinking(block)
    return assembly.add_text(delta.content or "")


def final_response(stream: Any, assembly: StreamAccumulator) -> ModelResponse | None:
    """None where the stream ended before the model did."""
    reason = stream.received_finish_reason or stream.intermittent_finish_reason
    if reason is None and not stream.received_any_finish_reason:
        return None
    counted = next((chunk.usage for chunk in reversed(stream.chunks) if getattr(chunk, "usage", None)), None)
    return assembly.to_response(reason, usage_from_litellm(counted, _stream_cost(stream, counted)))


def _stream_cost(stream: Any, counted: Any) -> float | None:
    """As litellm reckons it for a plain answer."""
    if counted is None:
        return None
    import litellm

    plain = litellm.ModelResponse(model=stream.model, usage=counted)
    cost: float | None = stream.logging_obj.response_cost_calculator(result=plain)
    return cost


def without_logging(stream: Any) -> Any:
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
async def closing_stream(stream: Any) -> AsyncIterator[None]:
    """Hangs up, and lets the generators beneath the stream end: nobody closes those of a response that was not read to
    its last byte, so that each is closed in a task once nothing holds it any more.
    """
    try:
        yield
    finally:
        await stream.aclose()
        vars(stream).clear()
        for _ in range(CLOSE_TICKS):
            await asyncio.sleep(0)
