"""The report on a packet as a Markdown file."""

import re
from collections.abc import Sequence

from librarian.packet import Packet
from librarian.summaries import Digest

FOOTER = "Made by the agentfn librarian from {names}. Page numbers count the pages of the file, from 1."


def as_markdown(title: str, focus: str, summary: str, digests: Sequence[Digest], packet: Packet) -> str:
    parts = [f"# {_plain(title)}"]
    parts += [f"> {_plain(line)}" for line in focus.splitlines() if line.strip()]
    parts += ["## Summary", summary, "## Part by part"]
    for done in digests:
        parts += [f"### {_plain(done.piece.title)} ({_plain(done.piece.cited)})", _nested(_said(done))]
    if left := left_out(digests, packet):
        parts += ["## What is not covered", "\n".join(f"- {reason}" for reason in left)]
    names = ", ".join(document.name for document in packet.documents)
    return "\n\n".join([*parts, "---", _plain(FOOTER.format(names=names)), ""])


def left_out(digests: Sequence[Digest], packet: Packet) -> list[str]:
    """All that no summary stands on: parts that failed, files that cannot be read, pages without text."""
    failed = [f"{done.piece.cited} ({done.piece.title}): {done.text}" for done in digests if done.failed]
    notes = [f"{document.name}, {note}" for document in packet.documents for note in document.content.notes]
    return [*failed, *packet.skipped, *notes]


def _said(done: Digest) -> str:
    return "*This part could not be summed up; see the end.*" if done.failed else done.text


def _nested(text: str) -> str:
    """Headings that a model wrote stay below the report's own."""
    return re.sub(r"^#{1,6} ", "#### ", text, flags=re.MULTILINE)


def _plain(text: str) -> str:
    """The text with nothing in it that Markdown would act on."""
    return re.sub(r"[\\`*\[\]<>#|_]", r"\\\g<0>", text)
