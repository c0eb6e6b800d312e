"""Extraction of JSON objects from a model's text, which may hold prose, code fences or a trailing comma."""

import itertools
import json
import re
from collections.abc import Iterator
from typing import Any

MAX_OBJECT_STARTS = 50  # braces that are tried as the start of an object
MAX_REPAIR_TOKENS = 20_000  # strings and brackets in an object that is repaired
MAX_TEXT_CHARS = 400_000  # the rest of the text is ignored
TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"?|[{}\[\]]', re.DOTALL)
STRING_OR_COMMA = re.compile(r'"(?:[^"\\]|\\.)*"?|,(?=\s*[}\]])', re.DOTALL)
DECODER = json.JSONDecoder(strict=False)  # models often write line breaks inside strings


def find_json_objects(text: str) -> Iterator[dict[str, Any]]:
    """The top-level JSON objects in the text, in order."""
    text = text[:MAX_TEXT_CHARS]
    position = 0
    for _ in range(MAX_OBJECT_STARTS):
        position = text.find("{", position)
        if position < 0:
            return
        value, position = _parse_object(text, position)
        if value is not None:
            yield value


def _parse_object(text: str, start: int) -> tuple[dict[str, Any] | None, int]:
    """The object at `start`, or None, and the position after it. A comma before a closing bracket is ignored."""
    try:
        value, end = DECODER.raw_decode(text, start)
        return value, end
    except (ValueError, RecursionError):
        pass
    end = _find_end(text, start)
    if end:
        repaired = STRING_OR_COMMA.sub(lambda match: match[0] if match[0] != "," else "", text[start:end])
        try:
            return DECODER.decode(repaired), end
        except (ValueError, RecursionError):
            pass
    return None, start + 1


def _find_end(text: str, start: int) -> int:
    """The end of the object at `start`; 0 if its brackets are never closed. Brackets in strings do not count."""
    depth = 0
    for match in itertools.islice(TOKEN.finditer(text, start), MAX_REPAIR_TOKENS):
        if match[0] in "{[":
            depth += 1
        elif match[0] in "}]":
            depth -= 1
            if depth == 0:
                return match.end()
    return 0
