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


@tool(idempotent=True, timeout_seconds=SUMMARY_TIMEOUT_SECONDS)
async def summarise(context: Context, focus: str = "", item: str | None = None, document: str | None = None) -> Output:
    """Sums up the whole packet, a document or an item, with citations: reads all of it, so it takes some minutes.

    For a question that a few pages answer, use search and read.

    Args:
        focus: What the reader wants to know of it; all that matters when left out.
        item: Only this item, by its id.
        document: Only this document, by its file name.
    """
    packet, chunk_summaries, summary = await _summarise_all(context, focus, item, document)
    uncovered = uncovered_parts(chunk_summaries, packet)
    texts = [summary, "Not covered:\n" + "\n".join(f"- {reason}" for reason in uncovered)] if uncovered else [summary]
    return Output("\n\n".join(texts), summary=_coverage_text(chunk_summaries))


@tool(idempotent=True, timeout_seconds=SUMMARY_TIMEOUT_SECONDS)
async def report(context: Context, title: str, focus: str = "", document: str | None = None) -> Output:
    """Writes report.md: a summary of the whole packet or of a document, then part by part, with citations.

    Reads all of it, so it takes some minutes.

    Args:
        title: Title of the report.
        focus: What the reader wants to know; all that matters when left out.
        document: Only this document, by its file name.
    """
    packet, chunk_summaries, summary = await _summarise_all(context, focus, None, document)
    text = report_markdown(title, focus, summary, chunk_summaries, packet)
    answer = f"report.md is written: {_coverage_text(chunk_summaries)}.\n\n{summary}"
    return Output(
        answer, files=[File("report.md", text.encode(), "text/markdown")], summary=_coverage_text(chunk_summaries)
    )


async def _summarise_all(
    context: Context, focus: str, item: str | None, document: str | None
) -> tuple[Packet, list[ChunkSummary], str]:
    """The packet, a summary of each chunk, and the combined one. Raises ToolError if every chunk failed."""
    packet, chunks = await asyncio.to_thread(_make_chunks, context, item, document)
    chunk_summaries = await summarise_chunks(chunks, focus, context)
    if all(chunk_summary.failed for chunk_summary in chunk_summaries):
        raise ToolError(f"No part could be summed up. The first one: {chunk_summaries[0].text}")
    return packet, chunk_summaries, await combine_summaries(chunk_summaries, focus, context)


def _make_chunks(context: Context, item: str | None, document: str | None) -> tuple[Packet, list[Chunk]]:
    packet = open_packet(context)
    if not item:
        return packet, split_chunks(packet.select_documents(document), alone=packet.is_single_document)
    source, found = packet.find_item(item, document)
    return packet, split_chunks([source], alone=packet.is_single_document, item=found)


def _coverage_text(chunk_summaries: Sequence[ChunkSummary]) -> str:
    failed = sum(chunk_summary.failed for chunk_summary in chunk_summaries)
    return f"{format_count(len(chunk_summaries) - failed, 'part')} summed up{f', {failed} failed' if failed else ''}"
