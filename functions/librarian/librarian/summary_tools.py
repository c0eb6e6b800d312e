"""The tools that read a whole packet in nested loops. Finished loops are not repeated when the task continues later."""

import asyncio
from collections.abc import Sequence

from agentfn import Context, File, Output, ToolError, tool
from librarian.chunks import Chunk, split_chunks
from librarian.locations import format_count
from librarian.packet import Packet, open_packet
from librarian.summaries import ChunkSummary, combine_summaries, summarise_chunks
from librarian.summary_report import report_markdown, uncovered_parts

SUMMARY_TIMEOUT_SECONDS = 900  # in one run; the rest continues in the next


@tool(idempotent=True, seconds=SUMMARY_TIMEOUT_SECONDS)
async def summarise(context: Context, focus: str = "", item: str | None = None, document: str | None = None) -> Output:
    """Sums up the whole packet, a document or an item, with citations: reads all of it, so it takes some minutes.

    For a question that a few pages answer, use search and read.

    Args:
        focus: What the reader wants to know of it; all that matters when left out.
        item: Only this item, by its id.
        document: Only this document, by its file name.
    """
    packet, done, summary = await _summarise_all(context, focus, item, document)
    left = uncovered_parts(done, packet)
    said = [summary, "Not covered:\n" + "\n".join(f"- {reason}" for reason in left)] if left else [summary]
    return Output("\n\n".join(said), summary=_coverage_text(done))


@tool(idempotent=True, seconds=SUMMARY_TIMEOUT_SECONDS)
async def report(context: Context, title: str, focus: str = "", document: str | None = None) -> Output:
    """Writes report.md: a summary of the whole packet or of a document, then part by part, with citations.

    Reads all of it, so it takes some minutes.

    Args:
        title: Title of the report.
        focus: What the reader wants to know; all that matters when left out.
        document: Only this document, by its file name.
    """
    packet, done, summary = await _summarise_all(context, focus, None, document)
    text = report_markdown(title, focus, summary, done, packet)
    said = f"report.md is written: {_coverage_text(done)}.\n\n{summary}"
    return Output(said, files=[File("report.md", text.encode(), "text/markdown")], summary=_coverage_text(done))


async def _summarise_all(
    context: Context, focus: str, item: str | None, document: str | None
) -> tuple[Packet, list[ChunkSummary], str]:
    """The packet, a summary of each chunk, and the combined one. Raises ToolError if every chunk failed."""
    packet, pieces = await asyncio.to_thread(_make_chunks, context, item, document)
    done = await summarise_chunks(pieces, focus, context)
    if all(one.failed for one in done):
        raise ToolError(f"No part could be summed up. The first one: {done[0].text}")
    return packet, done, await combine_summaries(done, focus, context)


def _make_chunks(context: Context, item: str | None, document: str | None) -> tuple[Packet, list[Chunk]]:
    packet = open_packet(context)
    if not item:
        return packet, split_chunks(packet.select_documents(document), alone=packet.is_single_document)
    one, chosen = packet.find_item(item, document)
    return packet, split_chunks([one], alone=packet.is_single_document, item=chosen)


def _coverage_text(done: Sequence[ChunkSummary]) -> str:
    failed = sum(one.failed for one in done)
    return f"{format_count(len(done) - failed, 'part')} summed up{f', {failed} failed' if failed else ''}"
