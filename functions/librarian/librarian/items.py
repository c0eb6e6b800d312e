"""The items of a document: the units that people cite, each with its pages."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from librarian.formats.content import Content, Heading, format_range
from librarian.formats.headings import strip_number, title_number
from librarian.limits import MAX_OUTLINE_DEPTH

MAX_SLUG_CHARS = 40
NUMBERED_ID = re.compile(r"\d")


@dataclass(frozen=True)
class Item:
    """An item. Its `id` is stable: the number in its title, else its position under its parent, or a slug."""

    id: str
    title: str
    level: int
    first: int
    last: int
    at_top: bool = True

    @property
    def label(self) -> str:
        """The name in citations: "Item 5.2", or the title if it has no number."""
        return f"Item {self.id}" if NUMBERED_ID.match(self.id) else f'"{self.title}"'

    def covers(self, part: int) -> bool:
        return self.first <= part <= self.last


@dataclass(frozen=True)
class Document:
    name: str
    content: Content

    @cached_property
    def items(self) -> tuple[Item, ...]:
        return make_items(self.content)

    def item_at(self, part: int, *, top: bool = False) -> Item | None:
        """The innermost item of a part, with `top` the outermost. None before the first item.

        If two items share a part, the one at its top is returned.
        """
        covering = [item for item in self.items if item.covers(part) and (item.level == 1 or not top)]
        above = [item for item in covering if item.first < part or item.at_top]
        candidates = above or covering[:1]
        return max(candidates, key=lambda item: (item.level, item.first)) if candidates else None

    def cite(self, first: int, last: int | None = None, *, alone: bool = False, item: Item | None = None) -> str:
        """The citation: "packet.pdf, Item 5, pp. 12-14". `alone` omits the name: there is only one document."""
        cited_item = item or self.item_at(first)
        pages = format_range(self.content.unit, first, last or first)
        return ", ".join([*([] if alone else [self.name]), *([cited_item.label] if cited_item else []), pages])


def make_items(content: Content) -> tuple[Item, ...]:
    headings = _normalize_levels(content.headings)
    last_parts = [_last_part(headings, index, len(content.parts)) for index in range(len(headings))]
    ids = _assign_ids(headings)
    return tuple(
        Item(item_id, _item_title(heading.title, item_id), heading.level, heading.part, last_part, heading.at_top)
        for item_id, heading, last_part in zip(ids, headings, last_parts, strict=True)
    )


def _normalize_levels(headings: Sequence[Heading]) -> list[Heading]:
    """Renumbers levels from 1 without gaps. A first heading above all others is the document's title and no item."""
    levels = sorted({heading.level for heading in headings})
    normalized = [replace(heading, level=levels.index(heading.level) + 1) for heading in headings]
    if len(normalized) > 2 and normalized[0].level == 1 and all(heading.level > 1 for heading in normalized[1:]):
        return _normalize_levels(normalized[1:])
    return [replace(heading, level=min(heading.level, MAX_OUTLINE_DEPTH)) for heading in normalized]


def _item_title(title: str, key: str) -> str:
    """The title without the number that is its id."""
    return strip_number(title) if title_number(title) == key else title


def _last_part(headings: Sequence[Heading], index: int, part_count: int) -> int:
    """The last part: the one before the next heading of the same or a higher level, or that heading's own part if the
    heading is not at its top."""
    heading = headings[index]
    following = next((other for other in headings[index + 1 :] if other.level <= heading.level), None)
    if following is None:
        return part_count
    return max(heading.part, following.part - following.at_top)


def _assign_ids(headings: Sequence[Heading]) -> list[str]:
    used: set[str] = set()
    path: list[str] = []
    counts: dict[str, int] = {}
    ids: list[str] = []
    for heading in headings:
        del path[heading.level - 1 :]
        parent = path[-1] if path else ""
        counts[parent] = counts.get(parent, 0) + 1
        preferred = _preferred_id(heading.title, parent, counts[parent])
        item_id, number = preferred, 2
        while item_id.casefold() in used:
            item_id, number = f"{preferred}-{number}", number + 1
        used.add(item_id.casefold())
        path.append(item_id)
        ids.append(item_id)
    return ids


def _preferred_id(title: str, parent: str, position: int) -> str:
    """The number in the title. Under a parent it must start with the parent's number."""
    number = title_number(title)
    if number and (not parent or number.startswith(f"{parent}.")):
        return number
    if parent:
        return f"{parent}.{position}"
    return re.sub(r"[\W_]+", "-", title.lower()).strip("-")[:MAX_SLUG_CHARS].strip("-") or f"part-{position}"
