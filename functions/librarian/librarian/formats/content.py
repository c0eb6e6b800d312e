"""What a reader makes of a file: its parts, and the marks where its items begin."""

from dataclasses import dataclass
from typing import Literal

Unit = Literal["p.", "§"]
Origin = Literal["bookmarks", "headings", "whole document"]
UNIT_PLURALS: dict[Unit, str] = {"p.": "pp.", "§": "§§"}
UNIT_NAMES: dict[Unit, tuple[str, str]] = {"p.": ("page", "pages"), "§": ("section", "sections")}


class UnreadableFileError(Exception):
    """A file that the librarian cannot read: why, and what to send instead."""

    def __init__(self, cause: str, remedy: str) -> None:
        super().__init__(f"{cause}. {remedy}")


@dataclass(frozen=True)
class Part:
    """A page, or a section of a document that has no pages. Numbers begin at 1."""

    number: int
    text: str


@dataclass(frozen=True)
class Heading:
    """Where an item begins. `at_top` says that nothing of an earlier item stands above it in that part."""

    title: str
    level: int
    part: int
    at_top: bool = True


@dataclass(frozen=True)
class Content:
    """A file as it was read, whatever it is called. `confidence` in the marks is between 0 and 1."""

    format: str
    unit: Unit
    parts: tuple[Part, ...]
    headings: tuple[Heading, ...] = ()
    item_source: Origin = "whole document"
    confidence: float = 0.2
    notes: tuple[str, ...] = ()

    @property
    def size(self) -> int:
        return sum(len(part.text) for part in self.parts)

    @property
    def extent_text(self) -> str:
        """As "32 pages"."""
        count = len(self.parts)
        return f"{count} {UNIT_NAMES[self.unit][count != 1]}"


def format_range(unit: Unit, first: int, last: int) -> str:
    """As "p. 3", "pp. 12-14" or "§ 2"."""
    return f"{unit} {first}" if first == last else f"{UNIT_PLURALS[unit]} {first}–{last}"  # noqa: RUF001 - a range's dash
