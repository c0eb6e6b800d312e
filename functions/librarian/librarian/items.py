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
        chosen = above or covering[:1]
        return max(chosen, key=lambda item: (item.level, item.first)) if chosen else None

    def cite(self, first: int, last: int | None = None, *, alone: bool = False, item: Item | None = None) -> str:
        """The citation: "packet.pdf, Item 5, pp. 12-14". `alone` omits the name: there is only one document."""
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
    """Renumbers levels from 1 without gaps. A first heading above all others is the document's title and no item."""
    levels = sorted({mark.level for mark in marks})
    made = [replace(mark, level=levels.index(mark.level) + 1) for mark in marks]
    if len(made) > 2 and made[0].level == 1 and all(mark.level > 1 for mark in made[1:]):
        return _normalize_levels(made[1:])
    return [replace(mark, level=min(mark.level, MAX_OUTLINE_DEPTH)) for mark in made]


def _item_title(title: str, key: str) -> str:
    """The title without the number that is its id."""
    return strip_number(title) if title_number(title) == key else title


def _last_part(marks: Sequence[Heading], place: int, parts: int) -> int:
    """The last part: the one before the next heading of the same or a higher level, or that heading's own part if the
    heading is not at its top."""
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
    """The number in the title. Under a parent it must start with the parent's number."""
    own = title_number(title)
    if own and (not parent or own.startswith(f"{parent}.")):
        return own
    if parent:
        return f"{parent}.{place}"
    return re.sub(r"[\W_]+", "-", title.lower()).strip("-")[:MAX_SLUG_CHARS].strip("-") or f"part-{place}"
