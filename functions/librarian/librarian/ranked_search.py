"""Ranked search over passages: BM25 over stems.

The maintained BM25 libraries (rank-bm25, bm25s) need numpy, which is larger than the whole librarian; SQLite's FTS5
has only the original Porter stemmer and is not in every build. The formula is short. Source: Robertson and
Zaragoza, "The Probabilistic Relevance Framework: BM25 and Beyond", 2009, with the usual k1 = 1.2 and b = 0.75.
"""

import math
import re
import threading
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

from librarian.items import Document
from librarian.limits import MAX_PASSAGE_WORDS, SNIPPET_CHARS
from librarian.text import flatten_lines, shorten

TERM_SATURATION, LENGTH_WEIGHT = 1.2, 0.75
TERM_PATTERN = re.compile(r"\d+(?:[.,]\d+)*|[^\W\d_]+(?:['\u2019][^\W\d_]+)?")
# Scripts without spaces between words are searched by pairs of characters.
UNSPACED_SCRIPT = re.compile("[\u3040-\u30ff\u3400-\u9fff\u0e00-\u0e7f]+")
COMMON_WORDS = """
a about an and any are as at be been but by can could did do does for from had has have how i in into is it
its many me much of on or our shall should so that the their them there these they this to was we were what when where
which who whom whose why will with would you your"""
STOP_WORDS = frozenset(COMMON_WORDS.split())


@dataclass(frozen=True)
class Passage:
    document: Document
    part: int
    text: str


@dataclass(frozen=True)
class Hit:
    passage: Passage
    score: float


def search_terms(text: str) -> list[str]:
    """The stems of a text, without accents and stop words; numbers without commas."""
    terms: list[str] = []
    for match in TERM_PATTERN.finditer(_fold_text(text)):
        word = match[0]
        if UNSPACED_SCRIPT.fullmatch(word):
            terms += [word[index : index + 2] for index in range(max(1, len(word) - 1))]
        elif word not in STOP_WORDS:
            terms.append(_stem(word))
    return terms


def split_passages(documents: Iterable[Document]) -> list[Passage]:
    """Splits parts into passages of at most MAX_PASSAGE_WORDS words at line ends. Neighbours overlap by a line."""
    return [
        Passage(document, part.number, text)
        for document in documents
        for part in document.content.parts
        for text in _split_text(part.text)
    ]


def rank_passages(query: str, candidates: Sequence[Passage]) -> list[Hit]:
    """The passages that share a term with the query, best first."""
    weights = bm25_scores(query, [passage.text for passage in candidates])
    hits = [Hit(passage, score) for passage, score in zip(candidates, weights, strict=True) if score > 0]
    return sorted(hits, key=lambda hit: -hit.score)


def bm25_scores(query: str, texts: Sequence[str]) -> list[float]:
    """The BM25 score of each text, 0 if it shares no term with the query."""
    counts = [Counter(search_terms(text)) for text in texts]
    lengths = [count.total() for count in counts]
    average = sum(lengths) / len(lengths) if any(lengths) else 1.0
    query_terms = Counter(search_terms(query))
    idf = {
        term: _inverse_document_frequency(sum(term in count for count in counts), len(counts)) for term in query_terms
    }
    return [
        sum(
            query_terms[term] * idf[term] * _term_weight(count[term], length / average)
            for term in query_terms
            if term in count
        )
        for count, length in zip(counts, lengths, strict=True)
    ]


def make_snippet(query: str, text: str) -> str:
    """The part of the passage with the most query terms."""
    line = flatten_lines(text)
    query_terms = set(search_terms(query))
    words = [(match.start(), set(search_terms(match[0])) & query_terms) for match in re.finditer(r"\S+", line)]
    offsets = [start for start, shared in words if shared] or [0]

    def gain(start: int) -> int:
        inside = [shared for offset, shared in words if start <= offset < start + SNIPPET_CHARS]
        return len(set().union(*inside))

    best_offset = max(offsets, key=gain)
    start = line.rfind(" ", 0, max(0, best_offset - SNIPPET_CHARS // 6)) + 1 if best_offset > SNIPPET_CHARS // 6 else 0
    return f"{'…' if start else ''}{shorten(line[start:], SNIPPET_CHARS)}"


def _split_text(text: str) -> Iterable[str]:
    current: list[str] = []
    word_count = 0
    for line in text.split("\n"):
        for segment in _split_long_line(line):
            if word_count and word_count + len(segment.split()) > MAX_PASSAGE_WORDS:
                yield "\n".join(current)
                current, word_count = current[-1:], len(current[-1].split())
            current.append(segment)
            word_count += len(segment.split())
    if any(line.strip() for line in current):
        yield "\n".join(current)


def _split_long_line(line: str) -> Iterable[str]:
    """Splits a line that is longer than a passage."""
    words = line.split()
    if len(words) <= MAX_PASSAGE_WORDS:
        return [line]
    step = MAX_PASSAGE_WORDS // 2
    return [" ".join(words[index : index + step]) for index in range(0, len(words), step)]


def _term_weight(count: int, length: float) -> float:
    return count * (TERM_SATURATION + 1) / (count + TERM_SATURATION * (1 - LENGTH_WEIGHT + LENGTH_WEIGHT * length))


def _inverse_document_frequency(having: int, total: int) -> float:
    return math.log(1 + (total - having + 0.5) / (having + 0.5))


def _fold_text(text: str) -> str:
    """The text in lower case without accents."""
    apart = unicodedata.normalize("NFKD", flatten_lines(text).casefold())
    return "".join(char for char in apart if not unicodedata.combining(char))


@lru_cache(maxsize=50_000)
def _stem(word: str) -> str:
    if word[0].isdigit():
        return word.replace(",", "")
    return str(_stemmers().english.stemWord(word))


class _Stemmers(threading.local):
    """A stemmer for each thread, because it has state. It is for English; it shortens words of other languages the same
    way in queries and texts.
    """

    def __init__(self) -> None:
        from snowballstemmer.english_stemmer import EnglishStemmer

        self.english = EnglishStemmer()


@lru_cache(maxsize=1)
def _stemmers() -> _Stemmers:
    return _Stemmers()
