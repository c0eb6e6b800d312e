"""JSON text as a DynamoDB attribute, whatever its size.

Small text stands as it is (S), larger is compressed (B), and what would not fit an item of 400 KB goes to a file of its
own and leaves its key (M). Numbers stay as written: DynamoDB would refuse floats and round large ones.
"""

import zlib
from collections.abc import Callable
from typing import Any, Protocol
from uuid import uuid4

COMPRESS_ABOVE = 4_000  # characters
SPILL_ABOVE = 300_000  # bytes after compression

Attribute = dict[str, Any]


class Spill(Protocol):
    """Where payloads go that an item cannot hold. Blocks."""

    def put(self, key: str, content: bytes) -> None: ...

    def get(self, key: str) -> bytes: ...


class Payloads:
    def __init__(self, spill: Spill, name: Callable[[], str] = lambda: uuid4().hex) -> None:
        self._spill = spill
        self._name = name

    def pack(self, text: str, prefix: str, limit: int = SPILL_ABOVE) -> Attribute:
        """`prefix` is the folder that a spilled payload goes to; `limit` is in bytes. May block."""
        if len(text) <= COMPRESS_ABOVE:
            return {"S": text}
        packed = zlib.compress(text.encode())
        if len(packed) <= limit:
            return {"B": packed}
        key = f"{prefix}spill/{self._name()}"
        self._spill.put(key, packed)
        return {"M": {"key": {"S": key}}}

    def unpack(self, attribute: Attribute) -> str:
        """May block."""
        if "S" in attribute:
            return str(attribute["S"])
        packed = attribute["B"] if "B" in attribute else self._spill.get(attribute["M"]["key"]["S"])
        return zlib.decompress(packed).decode()
