"""Formats the result of `list_items`."""

from collections.abc import Iterable, Sequence

from librarian.formats.content import UNIT_NAMES, format_range
from librarian.items import Document
from librarian.limits import MAX_LISTED_ITEMS
from librarian.packet import Packet


def format_items(packet: Packet, documents: Sequence[Document]) -> str:
    parts = ["\n".join(_document_lines(document, MAX_LISTED_ITEMS // len(documents))) for document in documents]
    if packet.skipped:
        parts.append("\n".join(f"Left out: {reason}" for reason in packet.skipped))
    return "\n\n".join(parts)


def _document_lines(document: Document, max_items: int) -> Iterable[str]:
    content = document.content
    origin = f"items from {content.item_source}, confidence {content.confidence:g}"
    if not document.items:
        unit_name = UNIT_NAMES[content.unit][0]
        origin = f"no items found, confidence {content.confidence:g}: search it, or read it by {unit_name}"
    yield f"{document.name} ({content.format}, {content.extent_text}); {origin}"
    items = document.items
    if len(items) > max_items:  # the deeper levels are dropped first
        items = tuple(item for item in items if item.level == 1)
    for item in items[:max_items]:
        location = format_range(content.unit, item.first, item.last)
        yield f"{'  ' * (item.level - 1)}- {item.id} · {item.title} · {location}"
    if len(items[:max_items]) < len(document.items):
        yield f"Not shown: {len(document.items) - len(items[:max_items])} further items."
    yield from (f"Note: {note}" for note in content.notes)
