"""The JSON object in what a model wrote around it: prose, code fences, a trailing comma."""

import itertools
import json
import re
from collections.abc import Iterator
from typing import Any

MAX_OBJECT_STARTS = 50  # braces that are tried as the start of an object
MAX_REPAIR_TOKENS = 20_000  # strings and brackets of an object that is mended
MAX_TEXT_CHARS = 400_000  # characters that are looked at
TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"?|[{}\[\]]', re.DOTALL)
STRING_OR_COMMA = re.compile(r'"(?:[^"\\]|\\.)*"?|,(?=\s*[}\]])', re.DOTALL)
DECODER = json.JSONDecoder(strict=False)  # line breaks within strings are a common slip


def find_json_objects(text: str) -> Iterator[dict[str, Any]]:
    """The JSON objects in the text that are not part of one another, in order."""
    text = text[:MAX_TEXT_CHARS]
    place = 0
    for _ in range(MAX_OBJECT_STARTS):
        place = text.find("{", place)
        if place < 0:
            return
        value, end = _parse_object(text, place)
        if value is not None:
            yield value
        place = end


def _parse_object(text: str, start: int) -> tuple[dict[str, Any] | None, int]:
    """The object that begins there, and where to look further. A comma before a closing bracket is overlooked."""
    try:
        value, end = DECODER.raw_decode(text, start)
        return value, end
    except (ValueError, RecursionError):
        pass
    end = _find_end(text, start)
    if end:
        repaired = STRING_OR_COMMA.sub(lambda found: found[0] if found[0] != "," else "", text[start:end])
        try:
            return DECODER.decode(repaired), end
        except (ValueError, RecursionError):
            pass
    return None, start + 1


def _find_end(text: str, start: int) -> int:
    """Where the brackets opened there are all closed again; 0 where they never are. Those in strings do not count."""
    depth = 0
    for found in itertools.islice(TOKEN.finditer(text, start), MAX_REPAIR_TOKENS):
        if found[0] in "{[":
            depth += 1
        elif found[0] in "}]":
            depth -= 1
            if depth == 0:
                return found.end()
    return 0
