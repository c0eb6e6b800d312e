"""Splits a packet into chunks that a model can read at once. No chunk crosses the border of two items."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from agentfn import ToolError
from librarian.formats.content import Part
from librarian.items import Document, Item
from librarian.limits import CHUNK_CHARS, MAX_CHUNK_CHARS, MAX_CHUNKS


@dataclass(frozen=True)
class Chunk:
    """Successive parts of one document. In `text`, each part is under its citation."""

    cited: str
    title: str
    text: str


def split_chunks(documents: Iterable[Document], *, alone: bool, item: Item | None = None) -> list[Chunk]:
    """Splits the documents, or one item of the only one. Raises ToolError if they are too large."""
    selected = list(documents)
    ranges = [(document, _parts_of(document, item)) for document in selected]
    size = sum(len(part.text) for _, parts in ranges for part in parts)
    if size > MAX_CHUNK_CHARS * MAX_CHUNKS // 2:
        raise ToolError(f"That is {size:,} characters, too many to sum up at once. Name an item or a document.")
    # Chunks end with items and pages and so are smaller than the limit: this allows for twice as many.
    limit = max(CHUNK_CHARS, 2 * size // MAX_CHUNKS)
    return [
        chunk for document, parts in ranges for chunk in _chunk_parts(document, parts, limit, alone=alone, item=item)
    ]


def with_citations(document: Document, parts: Iterable[Part], *, alone: bool, item: Item | None = None) -> str:
    """The text of the parts, each under its citation in brackets."""
    return "\n\n".join(
        f"[{document.cite(part.number, alone=alone, item=item)}]\n{part.text or '(no text)'}" for part in parts
    )


def _parts_of(document: Document, item: Item | None) -> Sequence[Part]:
    parts = document.content.parts
    return parts[item.first - 1 : item.last] if item else parts


def _chunk_parts(
    document: Document, parts: Sequence[Part], limit: int, *, alone: bool, item: Item | None
) -> Iterator[Chunk]:
    for top, group in groupby(parts, key=lambda part: item or document.item_at(part.number, top=True)):
        for run in _group_parts([part for part in group if part.text], limit):
            first, last = run[0].number, run[-1].number
            citation = document.cite(first, last, alone=alone, item=top)
            yield Chunk(citation, top.title if top else document.name, with_citations(document, run, alone=alone))


def _group_parts(parts: Iterable[Part], limit: int) -> Iterator[list[Part]]:
    """Groups parts up to the limit and cuts parts that are longer."""
    run: list[Part] = []
    size = 0
    for part in parts:
        for start in range(0, len(part.text), limit):
            text = part.text[start : start + limit]
            if run and size + len(text) > limit:
                yield run
                run, size = [], 0
            run.append(Part(part.number, text))
            size += len(text)
    if run:
        yield run
