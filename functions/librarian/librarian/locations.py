"""Resolves the arguments of a tool call to a document and its parts."""

import re
from collections.abc import Iterable, Iterator
from typing import Any

from agentfn import ToolError
from librarian.formats.content import UNIT_NAMES
from librarian.items import Document, Item
from librarian.limits import READ_CHARS
from librarian.packet import Packet

PAGE_RANGE = re.compile(r"\D*(\d{1,5})(?:\s*(?:-|\u2013|\u2014|to|:)\s*(\d{1,5}))?\s*")
MAX_LISTED_PLACES = 12

type PartRange = tuple[Document, int, int]


def search_ranges(packet: Packet, document: str | None, item: str | None) -> Iterator[PartRange]:
    """The part range of an item, else of each selected document. Raises ToolError if there is none."""
    if item:
        source, found_item = packet.find_item(item, document)
        yield source, found_item.first, found_item.last
        return
    for entry in packet.select_documents(document):
        yield entry, 1, len(entry.content.parts)


def resolve_range(
    packet: Packet, item: str | None, pages: str | None, document: str | None
) -> tuple[Item | None, PartRange]:
    """The part range to read, and the item if it is a whole one. Raises ToolError if it is ambiguous."""
    if item:
        source, found_item = packet.find_item(item, document)
        return found_item, (source, found_item.first, found_item.last)
    documents = packet.select_documents(document)
    if len(documents) > 1:
        raise ToolError(f"There are several documents; name one: {', '.join(source.name for source in documents)}.")
    source, count = documents[0], len(documents[0].content.parts)
    if not pages:
        return None, (source, 1, count)
    range_ = PAGE_RANGE.fullmatch(pages)
    first = int(range_[1]) if range_ else 0
    last = int(range_[2] or first) if range_ else 0
    if not 1 <= first <= last or first > count:
        many = UNIT_NAMES[source.content.unit][1]
        raise ToolError(
            f'{source.name} has {many} 1 to {count}; give one or a range of them, as "2" or "2-4", not {pages}.'
        )
    return None, (source, first, min(last, count))


def read_end(text: str, offset: int) -> int:
    """Where to stop reading: a line end in the last quarter, if there is one."""
    full = offset + READ_CHARS
    if full >= len(text):
        return len(text)
    line = text.rfind("\n", offset + READ_CHARS * 3 // 4, full)
    return line + 1 if line > 0 else full


def paging(more: bool, offset: int) -> dict[str, Any]:
    return {"has_more": True, "next_offset": offset} if more else {"has_more": False}


def join_places(names: Iterable[str]) -> str:
    """Lists each place once, at most MAX_LISTED_PLACES."""
    distinct = list(dict.fromkeys(names))
    omitted = len(distinct) - MAX_LISTED_PLACES
    return "; ".join(distinct[:MAX_LISTED_PLACES]) + (f"; and {omitted} more" if omitted > 0 else "")


def format_count(count: int, singular: str, plural: str = "") -> str:
    return f"{count:,} {singular if count == 1 else plural or f'{singular}s'}"
