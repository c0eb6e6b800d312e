"""What litellm streams, without what it does beside."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from agentfn.models.messages import Reply
from agentfn.models.openai_format import usage
from agentfn.models.stream_accumulator import Assembly

TICKS = 20  # of the event loop; two for each of the generators that a stream is read through


def heard(chunk: Any, assembly: Assembly) -> str:
    """The text in it."""
    delta = chunk.choices[0].delta if chunk.choices else None
    if delta is None:
        return ""
    for piece in delta.tool_calls or ():
        function = piece.function
        assembly.call(piece.index or 0, piece.id or "", function.name or "", function.arguments or "")
    for block in getattr(delta, "thinking_blocks", None) or ():
        assembly.think(block)
    return assembly.text(delta.content or "")


def whole(stream: Any, assembly: Assembly) -> Reply | None:
    """None where the stream ended before the model did."""
    reason = stream.received_finish_reason or stream.intermittent_finish_reason
    if reason is None and not stream.received_any_finish_reason:
        return None
    counted = next((chunk.usage for chunk in reversed(stream.chunks) if getattr(chunk, "usage", None)), None)
    return assembly.reply(reason, usage(counted, _price(stream, counted)))


def _price(stream: Any, counted: Any) -> float | None:
    """As litellm reckons it for a plain answer."""
    if counted is None:
        return None
    import litellm

    plain = litellm.ModelResponse(model=stream.model, usage=counted)
    cost: float | None = stream.logging_obj.response_cost_calculator(result=plain)
    return cost


def silenced(stream: Any) -> Any:
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
async def closing(stream: Any) -> AsyncIterator[None]:
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
