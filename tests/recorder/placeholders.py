"""Placeholders for values that differ from run to run.

    uuid4 as text or as hex            <id 1>, <id 2> … in order of appearance
    RFC 3339 time                      <time>, or <time.6> where the fraction does not have 3 digits. protobuf leaves a
                                       fraction of zero out, so none counts as 3
    seconds since 1970                 <epoch>, or <epoch.fraction>
    AWS signatures, their dates        <signature>, <amz-date>, <date>
    address on loopback                127.0.0.1:<port>
    name of the stage's resources      stage
    text of more than 2,000 characters its start, its length and its SHA-256

The members of objects that protobuf keeps as maps are sorted by name: protobuf gives them in any order.
"""

import hashlib
import re
from typing import Any

ID = re.compile(r"(?<![0-9a-f])(?:[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}|[0-9a-f]{32})(?![0-9a-f])")
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.(\d+))?(?:Z|\+00:00)")
EPOCH = re.compile(r"(?<![\d.])1[789]\d{8}(\.\d+)?(?![\d.])")
LONGEST = 2_000
MAPS = ("metadata", "data", "securitySchemes", "schemes", "security")
REPLACED = [
    (re.compile(r"stage-[0-9a-f]{8}\b"), "stage"),
    (re.compile(r"127\.0\.0\.1:\d+"), "127.0.0.1:<port>"),
    (re.compile(r"\d{8}T\d{6}Z"), "<amz-date>"),
    (re.compile(r"(X-Amz-Signature=)[0-9a-f]{64}"), r"\1<signature>"),
    (re.compile(r"(FOOBARKEY(?:/|%2F))\d{8}"), r"\1<date>"),
]


class Placeholders:
    """Of one recording."""

    def __init__(self) -> None:
        self._ids: dict[str, str] = {}

    def replace(self, value: Any) -> Any:
        """The value with placeholders in all of its strings and numbers, and in the keys of its objects."""
        match value:
            case dict():
                return {
                    self.text(name): self.replace(_sorted(inner) if name in MAPS else inner)
                    for name, inner in value.items()
                }
            case list() | tuple():
                return [self.replace(inner) for inner in value]
            case str():
                return _shortened(self.text(value))
            case float() | int() if not isinstance(value, bool) and EPOCH.fullmatch(str(value)):
                return self.text(str(value))
        return value

    def text(self, text: str) -> str:
        text = TIME.sub(_time, text)
        for pattern, placeholder in REPLACED:
            text = pattern.sub(placeholder, text)
        text = EPOCH.sub(lambda found: "<epoch.fraction>" if found[1] else "<epoch>", text)
        return ID.sub(self._id, text)

    def known(self, text: str) -> str:
        """The text with the placeholders of ids that were seen before; others get one without a number."""
        return ID.sub(lambda found: self._ids.get(found[0], "<id>"), text)

    def _id(self, found: re.Match[str]) -> str:
        return self._ids.setdefault(found[0], f"<id {len(self._ids) + 1}>")


def _time(found: re.Match[str]) -> str:
    digits = len(found[1] or "123")
    return "<time>" if digits == 3 else f"<time.{digits}>"


def _shortened(text: str) -> str:
    if len(text) <= LONGEST:
        return text
    return f"{text[:100]}… <{len(text)} characters, SHA-256 {hashlib.sha256(text.encode()).hexdigest()}>"


def _sorted(value: Any) -> Any:
    match value:
        case dict():
            return {name: _sorted(value[name]) for name in sorted(value)}
        case list():
            return [_sorted(inner) for inner in value]
    return value
