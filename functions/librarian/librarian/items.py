"""The items of a document: what people cite, each with the pages that it covers."""

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
    """`id` is stable: the title's own number where it has one, else its place below its parent, or a slug."""

    id: str
    title: str
    level: int
    first: int
    last: int
    at_top: bool = True

    @property
    def label(self) -> str:
        """As it is cited: "Item 5.2", or the title where it has no number."""
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
        """The innermost item that a part belongs to, or with `top` the outermost. None before the first item.

        Where two share a part it is the one that its top belongs to.
        """
        covering = [item for item in self.items if item.covers(part) and (item.level == 1 or not top)]
        above = [item for item in covering if item.first < part or item.at_top]
        chosen = above or covering[:1]
        return max(chosen, key=lambda item: (item.level, item.first)) if chosen else None

    def cite(self, first: int, last: int | None = None, *, alone: bool = False, item: Item | None = None) -> str:
        """As "packet.pdf, Item 5, pp. 12-14"; without the name where the packet is this document `alone`."""
        found = item or self.item_at(first)
        pages = format_range(self.content.unit, first, last or first)
        return ", ".join([*([] if alone else [self.name]), *([found.label] if found else []), pages])


def make_items(content: Content) -> tuple[Item, ...]:
    marks = _normalize_levels(content.headings)
    ends = [_last_part(marks, place, len(content.parts)) for place in range(len(marks))]
    ids = _assign_ids(marks)
    return tuple(
        Item(key, _item_title(mark.title, key), mark.level, mark.part, end, mark.at_top)
        for key, mark, end in zip(ids, marks, ends, strict=True)
    )


def _normalize_levels(marks: Sequence[Heading]) -> list[Heading]:
    """Levels from 1 without gaps. A first heading that stands over all others is the document's title, no item."""
    levels = sorted({mark.level for mark in marks})
    made = [replace(mark, level=levels.index(mark.level) + 1) for mark in marks]
    if len(made) > 2 and made[0].level == 1 and all(mark.level > 1 for mark in made[1:]):
        return _normalize_levels(made[1:])
    return [replace(mark, level=min(mark.level, MAX_OUTLINE_DEPTH)) for mark in made]


def _item_title(title: str, key: str) -> str:
    """Without the number that is its id."""
    return strip_number(title) if title_number(title) == key else title


def _last_part(marks: Sequence[Heading], place: int, parts: int) -> int:
    """The part before the next mark of the same or a higher level; that part itself where the mark is further down."""
    mark = marks[place]
    following = next((other for other in marks[place + 1 :] if other.level <= mark.level), None)
    if following is None:
        return parts
    return max(mark.part, following.part - following.at_top)


def _assign_ids(marks: Sequence[Heading]) -> list[str]:
    taken: set[str] = set()
    path: list[str] = []
    counts: dict[str, int] = {}
    made: list[str] = []
    for mark in marks:
        del path[mark.level - 1 :]
        parent = path[-1] if path else ""
        counts[parent] = counts.get(parent, 0) + 1
        wish = _preferred_id(mark.title, parent, counts[parent])
        key, number = wish, 2
        while key.casefold() in taken:
            key, number = f"{wish}-{number}", number + 1
        taken.add(key.casefold())
        path.append(key)
        made.append(key)
    return made


def _preferred_id(title: str, parent: str, place: int) -> str:
    """The title's own number, under a parent only where it goes on from the parent's."""
    own = title_number(title)
    if own and (not parent or own.startswith(f"{parent}.")):
        return own
    if parent:
        return f"{parent}.{place}"
    return re.sub(r"[\W_]+", "-", title.lower()).strip("-")[:MAX_SLUG_CHARS].strip("-") or f"part-{place}"
