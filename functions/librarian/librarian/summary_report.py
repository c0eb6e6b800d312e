"""The Markdown report on a packet."""

import re
from collections.abc import Sequence

from librarian.packet import Packet
from librarian.summaries import ChunkSummary

FOOTER = "Made by the agentfn librarian from {names}. Page numbers count the pages of the file, from 1."


def report_markdown(title: str, focus: str, summary: str, summaries: Sequence[ChunkSummary], packet: Packet) -> str:
    parts = [f"# {_escape_markdown(title)}"]
    parts += [f"> {_escape_markdown(line)}" for line in focus.splitlines() if line.strip()]
    parts += ["## Summary", summary, "## Part by part"]
    for chunk_summary in summaries:
        parts += [
            f"### {_escape_markdown(chunk_summary.chunk.title)} ({_escape_markdown(chunk_summary.chunk.cited)})",
            _demote_headings(_summary_text(chunk_summary)),
        ]
    if uncovered := uncovered_parts(summaries, packet):
        parts += ["## What is not covered", "\n".join(f"- {reason}" for reason in uncovered)]
    names = ", ".join(document.name for document in packet.documents)
    return "\n\n".join([*parts, "---", _escape_markdown(FOOTER.format(names=names)), ""])


def uncovered_parts(summaries: Sequence[ChunkSummary], packet: Packet) -> list[str]:
    """What the summary does not cover: failed parts, unreadable files, pages without text."""
    failed = [
        f"{chunk_summary.chunk.cited} ({chunk_summary.chunk.title}): {chunk_summary.text}"
        for chunk_summary in summaries
        if chunk_summary.failed
    ]
    notes = [f"{document.name}, {note}" for document in packet.documents for note in document.content.notes]
    return [*failed, *packet.skipped, *notes]


def _summary_text(chunk_summary: ChunkSummary) -> str:
    return "*This part could not be summed up; see the end.*" if chunk_summary.failed else chunk_summary.text


def _demote_headings(text: str) -> str:
    """Moves headings that a model wrote below the report's own."""
    return re.sub(r"^#{1,6} ", "#### ", text, flags=re.MULTILINE)


def _escape_markdown(text: str) -> str:
    """Escapes Markdown's special characters."""
    return re.sub(r"[\\`*\[\]<>#|_]", r"\\\g<0>", text)
