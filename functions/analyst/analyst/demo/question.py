"""Parses a question: its clauses, the columns that each names, and what it asks about them."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

from analyst.demo.tool_results import Column

CLAUSE_SEPARATOR = re.compile(
    r"[.;?!\n]|,?\s+and\s+(?=(?:how|what|which|is|are|does|do|show|plot|draw|chart|compare)\b)|,\s*(?=how|what|which)",
    re.IGNORECASE,
)
COUNT_WORDS = frozenset({"many", "count", "number", "frequency", "share", "proportion", "percent"})
SPREAD_WORDS = frozenset({"distribution", "distributed", "histogram", "spread", "range", "variation", "vary"})
RELATION_WORDS = frozenset({"relation", "relationship", "related", "relate", "correlation", "correlated", "correlate"})
RELATION_WORDS |= {"scatter", "depend", "versus", "vs"}
TREND_WORDS = frozenset({"trend", "time", "development", "develop", "evolve", "over", "change", "changed", "growth"})
# Words that refer to the table's time column without naming it.
TIME_WORDS = frozenset({"trend", "time", "development", "develop"})
# Word → SQL function and the label of its result.
AGGREGATE_WORDS = {
    **dict.fromkeys(("mean", "average", "avg"), ("AVG", "mean")),
    **dict.fromkeys(("median", "typical"), ("MEDIAN", "median")),
    **dict.fromkeys(("total", "sum"), ("SUM", "total")),
    **dict.fromkeys(("maximum", "max", "highest", "largest", "heaviest", "longest"), ("MAX", "highest")),
    **dict.fromkeys(("minimum", "min", "lowest", "smallest", "lightest", "shortest"), ("MIN", "lowest")),
}


@dataclass(frozen=True)
class Clause:
    """A part of a question. `columns` are in the order in which the words name them."""

    words: tuple[str, ...]
    columns: tuple[Column, ...]

    def mentions_any(self, vocabulary: Iterable[str]) -> bool:
        return not {stem(word) for word in vocabulary}.isdisjoint(self.words)

    @property
    def aggregate(self) -> tuple[str, str] | None:
        """The SQL function that the clause asks for and its label, None if it asks for none."""
        stems = {stem(word): functions for word, functions in AGGREGATE_WORDS.items()}
        return next((stems[word] for word in self.words if word in stems), None)


def split_clauses(question: str, columns: Sequence[Column]) -> list[Clause]:
    """Splits a question into parts that can be answered separately."""
    parts = [
        tuple(stem(word) for word in re.findall(r"\w+", part.lower())) for part in CLAUSE_SEPARATOR.split(question)
    ]
    return [Clause(words, _find_columns(words, columns)) for words in parts if words]


def stem(word: str) -> str:
    """An approximate singular: enough for islands, species, masses and categories."""
    if len(word) > 4 and word.endswith("ies") and not word.endswith("cies"):
        return f"{word[:-3]}y"
    if len(word) > 4 and word.endswith(("sses", "xes", "ches", "shes")):
        return word[:-2]
    if len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is", "ies")):
        return word[:-1]
    return word


def _find_columns(words: Sequence[str], columns: Sequence[Column]) -> tuple[Column, ...]:
    """The columns whose words occur in sequence, then those that a single word identifies."""
    found: dict[int, Column] = {}
    used: set[int] = set()
    for column in sorted(columns, key=lambda column: -len(column.words)):
        index = _find_sequence(words, [stem(word) for word in column.words])
        if index is not None and index not in used:
            found[index] = column
            used |= set(range(index, index + len(column.words)))
    for index, word in enumerate(words):
        matching = [column for column in columns if any(_is_same_word(word, stem(part)) for part in column.words)]
        if index not in used and len(matching) == 1 and matching[0] not in found.values():
            found[index] = matching[0]
    return tuple(found[index] for index in sorted(found))


def _find_sequence(words: Sequence[str], sequence: Sequence[str]) -> int | None:
    for start in range(len(words) - len(sequence) + 1):
        if all(_is_same_word(word, part) for word, part in zip(words[start:], sequence, strict=False)):
            return start
    return None


def _is_same_word(word: str, part: str) -> bool:
    """Whether the words are equal, or long and nearly equal (a typing error)."""
    if word == part:
        return True
    return word[0] == part[0] and min(len(word), len(part)) > 4 and SequenceMatcher(None, word, part).ratio() > 0.85
