"""Which parts of which document a call speaks of."""

import re
from collections.abc import Iterable, Iterator
from typing import Any

from agentfn import ToolError
from librarian.formats.content import COUNTED
from librarian.items import Document, Item
from librarian.limits import READ
from librarian.packet import Packet

RANGE = re.compile(r"\D*(\d{1,5})(?:\s*(?:-|\u2013|\u2014|to|:)\s*(\d{1,5}))?\s*")
MOST_NAMED = 12

type Place = tuple[Document, int, int]


def ranges(packet: Packet, document: str | None, item: str | None) -> Iterator[Place]:
    """First and last part of an item, else of each document chosen. Raises ToolError where there is none."""
    if item:
        found, chosen = packet.item(item, document)
        yield found, chosen.first, chosen.last
        return
    for one in packet.chosen(document):
        yield one, 1, len(one.content.parts)


def place(packet: Packet, item: str | None, pages: str | None, document: str | None) -> tuple[Item | None, Place]:
    """The one place to read, and the item where it is a whole one. Raises ToolError where that is unclear."""
    if item:
        one, chosen = packet.item(item, document)
        return chosen, (one, chosen.first, chosen.last)
    found = packet.chosen(document)
    if len(found) > 1:
        raise ToolError(f"There are several documents; name one: {', '.join(one.name for one in found)}.")
    one, count = found[0], len(found[0].content.parts)
    if not pages:
        return None, (one, 1, count)
    range_ = RANGE.fullmatch(pages)
    first = int(range_[1]) if range_ else 0
    last = int(range_[2] or first) if range_ else 0
    if not 1 <= first <= last or first > count:
        many = COUNTED[one.content.unit][1]
        raise ToolError(
            f'{one.name} has {many} 1 to {count}; give one or a range of them, as "2" or "2-4", not {pages}.'
        )
    return None, (one, first, min(last, count))


def end_of(text: str, offset: int) -> int:
    """Where to stop reading: at a line's end in the last quarter, if there is one."""
    full = offset + READ
    if full >= len(text):
        return len(text)
    line = text.rfind("\n", offset + READ * 3 // 4, full)
    return line + 1 if line > 0 else full


def paging(more: bool, offset: int) -> dict[str, Any]:
    return {"has_more": True, "next_offset": offset} if more else {"has_more": False}


def named(places: Iterable[str]) -> str:
    """Each place once, the first ones of many."""
    different = list(dict.fromkeys(places))
    others = len(different) - MOST_NAMED
    return "; ".join(different[:MOST_NAMED]) + (f"; and {others} more" if others > 0 else "")


def counted(count: int, one: str, many: str = "") -> str:
    return f"{count:,} {one if count == 1 else many or f'{one}s'}"
