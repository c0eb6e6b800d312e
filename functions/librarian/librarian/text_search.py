"""Exact text search that ignores line breaks, hyphenation and the kind of quotes."""

import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import accumulate

from librarian.items import Document
from librarian.limits import MATCH_CONTEXT_CHARS
from librarian.text import clean_text, flatten_lines

# A word may be broken at a line's end, with or without a hyphen of its own.
LINE_BREAK_IN_WORD = r"(?:[-\u2010\u2011]\s*\n\s*)?"
DASHES = "-\u2010\u2011\u2012\u2013\u2014\u2212"
EQUIVALENT_SIGNS = {
    **dict.fromkeys(DASHES, f"\\s*[{DASHES}]\\s*"),
    **dict.fromkeys("'\u2018\u2019\u02bc\u2032`", "['\u2018\u2019\u02bc\u2032`]"),
    **dict.fromkeys('"\u201c\u201d\u201e\u00ab\u00bb', '["\u201c\u201d\u201e\u00ab\u00bb]'),
}


@dataclass(frozen=True)
class Match:
    """A match. `first` and `last` are part numbers: a match can cross the end of a page."""

    document: Document
    first: int
    last: int
    before: str
    text: str
    after: str

    def __str__(self) -> str:
        return f"…{self.before}**{self.text}**{self.after}…"


def text_pattern(text: str, *, ignore_case: bool) -> re.Pattern[str]:
    """A pattern for the text with any spacing. Raises ValueError for blank text."""
    words = clean_text(text).split()
    if not words:
        raise ValueError("there is no text to find")
    return re.compile(r"\s+".join(map(_word_pattern, words)), re.IGNORECASE if ignore_case else 0)


def _word_pattern(word: str) -> str:
    patterns = [EQUIVALENT_SIGNS.get(character) or re.escape(character) for character in word]
    pattern = patterns[0]
    for previous, character, character_pattern in zip(word, word[1:], patterns[1:], strict=False):
        pattern += (LINE_BREAK_IN_WORD if previous.isalpha() and character.isalpha() else "") + character_pattern
    return pattern


def find_matches(document: Document, pattern: re.Pattern[str], first: int, last: int) -> Iterator[Match]:
    """All matches in the parts from `first` to `last`."""
    parts = document.content.parts[first - 1 : last]
    text = "\n".join(part.text for part in parts)
    starts = list(accumulate((len(part.text) + 1 for part in parts), initial=0))[:-1]
    for match in pattern.finditer(text):
        begin, end = (parts[bisect_right(starts, position) - 1].number for position in (match.start(), match.end() - 1))
        before = text[max(0, match.start() - MATCH_CONTEXT_CHARS) : match.start()]
        after = text[match.end() : match.end() + MATCH_CONTEXT_CHARS]
        yield Match(
            document,
            begin,
            end,
            _trim_context(before, left=True),
            flatten_lines(match[0]),
            _trim_context(after, left=False),
        )


def _trim_context(text: str, *, left: bool) -> str:
    """Context on one line, without a word that is cut at its edge. One space next to the match stays."""
    words = re.sub(r"\s+", " ", text)
    if len(text) < MATCH_CONTEXT_CHARS:
        return words
    return words.partition(" ")[2] if left else words.rpartition(" ")[0]
