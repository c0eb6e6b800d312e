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
    for done in summaries:
        parts += [
            f"### {_escape_markdown(done.chunk.title)} ({_escape_markdown(done.chunk.cited)})",
            _demote_headings(_summary_text(done)),
        ]
    if left := uncovered_parts(summaries, packet):
        parts += ["## What is not covered", "\n".join(f"- {reason}" for reason in left)]
    names = ", ".join(document.name for document in packet.documents)
    return "\n\n".join([*parts, "---", _escape_markdown(FOOTER.format(names=names)), ""])


def uncovered_parts(summaries: Sequence[ChunkSummary], packet: Packet) -> list[str]:
    """What the summary does not cover: failed parts, unreadable files, pages without text."""
    failed = [f"{done.chunk.cited} ({done.chunk.title}): {done.text}" for done in summaries if done.failed]
    notes = [f"{document.name}, {note}" for document in packet.documents for note in document.content.notes]
    return [*failed, *packet.skipped, *notes]


def _summary_text(done: ChunkSummary) -> str:
    return "*This part could not be summed up; see the end.*" if done.failed else done.text


def _demote_headings(text: str) -> str:
    """Moves headings that a model wrote below the report's own."""
    return re.sub(r"^#{1,6} ", "#### ", text, flags=re.MULTILINE)


def _escape_markdown(text: str) -> str:
    """Escapes Markdown's special characters."""
    return re.sub(r"[\\`*\[\]<>#|_]", r"\\\g<0>", text)
