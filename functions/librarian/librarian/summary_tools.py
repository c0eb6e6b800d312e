"""The tools that read all of a packet, in inner loops: what those have done stays done when the task goes on later."""

import asyncio
from collections.abc import Sequence

from agentfn import Context, File, Output, ToolError, tool
from librarian.chunks import Piece, cut
from librarian.locations import counted
from librarian.packet import Packet, open_packet
from librarian.summaries import Digest, combine, digest
from librarian.summary_report import as_markdown, left_out

WHOLE = 900  # seconds in one run; what is not done by then goes on in the next


@tool(idempotent=True, seconds=WHOLE)
async def summarise(context: Context, focus: str = "", item: str | None = None, document: str | None = None) -> Output:
    """Sums up the whole packet, a document or an item, with citations: reads all of it, so it takes some minutes.

    For a question that a few pages answer, use search and read.

    Args:
        focus: What the reader wants to know of it; all that matters when left out.
        item: Only this item, by its id.
        document: Only this document, by its file name.
    """
    packet, done, summary = await _summed_up(context, focus, item, document)
    left = left_out(done, packet)
    said = [summary, "Not covered:\n" + "\n".join(f"- {reason}" for reason in left)] if left else [summary]
    return Output("\n\n".join(said), summary=_covered(done))


@tool(idempotent=True, seconds=WHOLE)
async def report(context: Context, title: str, focus: str = "", document: str | None = None) -> Output:
    """Writes report.md: a summary of the whole packet or of a document, then part by part, with citations.

    Reads all of it, so it takes some minutes.

    Args:
        title: Title of the report.
        focus: What the reader wants to know; all that matters when left out.
        document: Only this document, by its file name.
    """
    packet, done, summary = await _summed_up(context, focus, None, document)
    text = as_markdown(title, focus, summary, done, packet)
    said = f"report.md is written: {_covered(done)}.\n\n{summary}"
    return Output(said, files=[File("report.md", text.encode(), "text/markdown")], summary=_covered(done))


async def _summed_up(
    context: Context, focus: str, item: str | None, document: str | None
) -> tuple[Packet, list[Digest], str]:
    """The packet, a digest of each piece, and the summary of all. Raises ToolError where every piece failed."""
    packet, pieces = await asyncio.to_thread(_pieces, context, item, document)
    done = await digest(pieces, focus, context)
    if all(one.failed for one in done):
        raise ToolError(f"No part could be summed up. The first one: {done[0].text}")
    return packet, done, await combine(done, focus, context)


def _pieces(context: Context, item: str | None, document: str | None) -> tuple[Packet, list[Piece]]:
    packet = open_packet(context)
    if not item:
        return packet, cut(packet.chosen(document), alone=packet.alone)
    one, chosen = packet.item(item, document)
    return packet, cut([one], alone=packet.alone, item=chosen)


def _covered(done: Sequence[Digest]) -> str:
    failed = sum(one.failed for one in done)
    return f"{counted(len(done) - failed, 'part')} summed up{f', {failed} failed' if failed else ''}"
