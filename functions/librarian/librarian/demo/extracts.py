"""Extracts: sentences of documents with their citations, of which the demo model's answers consist."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from librarian.ranked_search import bm25_scores, search_terms
from librarian.text import flatten_lines, shorten

CITATION_LINE = re.compile(r"^\[([^\]\n]+)\]$", re.MULTILINE)
SENTENCE_BREAK = re.compile(r"(?<=[.!?])[\"\u201d)]?\s+(?=[\"\u201c(]?[A-Z0-9])")
# A full stop that ends no sentence: an initial, a title, "No. 5".
ABBREVIATION = re.compile(r"(?:\b[A-Z]|(?:^|\s)\d{1,2}|\b(?:No|Mr|Mrs|Ms|Dr|St|Sec|Art|vs|pp?))\.$")
COLUMN_GAP = re.compile(r"\S {3}\S| \| ")
# A short first line before the start of a sentence.
HEADING_LINE = re.compile(r"(?<=\n\n)([^\n]{3,60}[^\n.,;:?!])\n(?=[A-Z])(?![^\n]* {3})")
FIGURE = re.compile(r"\d")
AMOUNT_QUESTION = re.compile(
    r"\b(?:how (?:much|many|high|long|often|large)|what (?:is|was|are|were)|when|total|cost|until)\b", re.IGNORECASE
)
SENTENCE_ENDS = (".", "!", "?", '"', "\u201d")
MIN_SENTENCE_WORDS = 5
MAX_EXTRACT_CHARS = 500


@dataclass(frozen=True)
class Extract:
    text: str
    cited: str

    def __str__(self) -> str:
        return f"{self.text} ({self.cited})"


def split_extracts(text: str) -> list[Extract]:
    """The sentences and table rows of a text with citations in brackets, as `read` returns it."""
    citations = list(CITATION_LINE.finditer(text))
    section_ends = [citation.start() for citation in citations[1:]] + [len(text)]
    return [
        Extract(shorten(sentence, MAX_EXTRACT_CHARS), citation[1])
        for citation, section_end in zip(citations, section_ends, strict=True)
        for sentence in _sentences(text[citation.end() : section_end])
    ]


def best_extracts(question: str, extracts: Sequence[Extract], max_count: int = 2) -> list[Extract]:
    """The extracts that fit the question best; a second one only if its score is nearly as high."""
    distinct = list({extract.text: extract for extract in extracts}.values())
    wants_figure = bool(AMOUNT_QUESTION.search(question))
    weights = bm25_scores(question, [extract.text for extract in distinct])
    shares = [len(set(search_terms(question)) & set(search_terms(extract.text))) for extract in distinct]
    weights = [
        weight
        * (1 + 0.15 * share)
        * (1.25 if wants_figure and FIGURE.search(extract.text) else 1)
        * _sentence_weight(extract.text)
        for weight, share, extract in zip(weights, shares, distinct, strict=True)
    ]
    order = sorted(range(len(distinct)), key=lambda index: -weights[index])
    best = [index for index in order[:max_count] if weights[index] > 0.6 * weights[order[0]] > 0]
    return [distinct[index] for index in best]


def _sentence_weight(text: str) -> float:
    """Headings weigh less, because they have the question's words without an answer."""
    return 1.0 if text.endswith(SENTENCE_ENDS) or ", " in text else 0.4


def leading_extracts(extracts: Sequence[Extract], max_count: int = 4) -> list[Extract]:
    """The first sentences of each page and those with amounts, in the order of the text."""
    prose = [
        extract
        for extract in extracts
        if extract.text.endswith(SENTENCE_ENDS) and len(extract.text.split()) >= MIN_SENTENCE_WORDS
    ] or list(extracts)
    firsts = list({extract.cited: extract for extract in reversed(prose)}.values())[::-1]
    figures = [extract for extract in prose if re.search(r"[$\u20ac\u00a3]\s?\d|\d+ percent|\d%", extract.text)]
    candidates = [*firsts[: max_count // 2], *figures, *firsts, *prose]
    leading = list(dict.fromkeys(candidates))[:max_count]
    return sorted(leading, key=extracts.index)


def _sentences(text: str) -> Iterator[str]:
    for paragraph in re.split(r"\n\s*\n", HEADING_LINE.sub(r"\1\n\n", text)):
        lines = paragraph.strip().split("\n")
        head = lines[0] if COLUMN_GAP.search(lines[0]) else ""
        prose: list[str] = []
        for line in lines:
            if COLUMN_GAP.search(line) or line.startswith("- "):
                yield from _split_sentences(prose)
                prose = []
                yield _format_row(line, head)
            else:
                prose.append(line)
        yield from _split_sentences(prose)


def _format_row(line: str, head: str) -> str:
    """A table row as text, with the names of its columns if the table has a header."""
    cells, names = (re.split(r" {3,}| \| ", part.strip()) for part in (line, head))
    if not head or line == head or len(cells) != len(names):
        return ", ".join(cells).removeprefix("- ")
    return f"{cells[0]}: " + ", ".join(f"{name} {cell}" for name, cell in zip(names[1:], cells[1:], strict=True))


def _split_sentences(lines: Sequence[str]) -> Iterator[str]:
    sentence = ""
    for piece in SENTENCE_BREAK.split(flatten_lines("\n".join(lines))):
        sentence = f"{sentence} {piece}".strip()
        if not ABBREVIATION.search(sentence):
            if len(sentence.split()) > 1:
                yield sentence
            sentence = ""
    if sentence:
        yield sentence
