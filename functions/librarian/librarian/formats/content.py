"""The content of a document file: its parts, and the headings where its items begin."""

from dataclasses import dataclass
from typing import Literal

Unit = Literal["p.", "§"]
Origin = Literal["bookmarks", "headings", "whole document"]
UNIT_PLURALS: dict[Unit, str] = {"p.": "pp.", "§": "§§"}
UNIT_NAMES: dict[Unit, tuple[str, str]] = {"p.": ("page", "pages"), "§": ("section", "sections")}


class UnreadableFileError(Exception):
    """A file cannot be read. The text has the cause and what to send instead."""

    def __init__(self, cause: str, remedy: str) -> None:
        super().__init__(f"{cause}. {remedy}")


@dataclass(frozen=True)
class Part:
    """A page, or a section of a document without pages. Numbers start at 1."""

    number: int
    text: str


@dataclass(frozen=True)
class Heading:
    """The start of an item. `at_top`: no text of an earlier item is above it in that part."""

    title: str
    level: int
    part: int
    at_top: bool = True


@dataclass(frozen=True)
class Content:
    """The content of a file. `confidence` in the headings is between 0 and 1."""

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
        """The size as text: "32 pages"."""
        count = len(self.parts)
        return f"{count} {UNIT_NAMES[self.unit][count != 1]}"


def format_range(unit: Unit, first: int, last: int) -> str:
    """The range as text: "p. 3", "pp. 12-14" or "§ 2"."""
    return f"{unit} {first}" if first == last else f"{UNIT_PLURALS[unit]} {first}–{last}"  # noqa: RUF001 - a range's dash
