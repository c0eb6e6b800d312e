"""Removes page headers and footers: lines at the edge of most pages."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence

MIN_PAGES = 4
MIN_PAGE_SHARE = 0.5  # of pages with text
MAX_EDGE_LINES = 3  # at each edge
PAGE_COUNTER = re.compile(r"\b(?:page|p|pg|pp|sheet|seite|pagina|página)\b", re.IGNORECASE)
NUMBER = re.compile(r"\d{1,5}")


def strip_page_headers(pages: Sequence[str]) -> list[str]:
    """The pages without headers and footers. The first page keeps them: they may hold the only date or name."""
    texts = list(pages)
    min_pages = max(MIN_PAGES, MIN_PAGE_SHARE * sum(map(bool, texts)))
    for edge in (0, -1):
        kept_index = -1
        for _ in range(MAX_EDGE_LINES):
            indices = _pages_with_common_line(texts, edge, min_pages)
            kept_index = indices[0] if indices and kept_index < 0 else kept_index
            for index in indices:
                if index != kept_index:
                    texts[index] = _strip_edge_line(texts[index], edge)
    return texts


def _pages_with_common_line(texts: Sequence[str], edge: int, min_pages: float) -> list[int]:
    """The pages that have the most common line at that edge, [] if they are too few."""
    keys = [set(_line_keys(text.split("\n")[edge], index)) if text else set() for index, text in enumerate(texts)]
    counts = Counter(key for page_keys in keys for key in page_keys)
    key, count = counts.most_common(1)[0] if counts else ("", 0)
    return [index for index, page_keys in enumerate(keys) if key in page_keys] if count >= min_pages else []


def _line_keys(line: str, page_index: int) -> Iterator[str]:
    """Keys under which a line is counted: the line itself, and a page counter with its number made relative.

    "Article 3" at the top of a third page is no page counter, nor is a total at the bottom of each page.
    """
    yield line
    if not PAGE_COUNTER.search(line) and any(char.isalpha() for char in line):
        return
    numbers = list(NUMBER.finditer(line))
    for match in numbers[:1] + numbers[-1:]:
        yield f"{line[: match.start()]}#{int(match[0]) - page_index}{line[match.end() :]}"


def _strip_edge_line(text: str, edge: int) -> str:
    lines = text.split("\n")
    del lines[edge]
    return "\n".join(lines).strip()
