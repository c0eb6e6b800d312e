"""JSON text as a DynamoDB attribute, whatever its size.

Small text stands as it is (S), larger is compressed (B), and what would not fit an item of 400 KB goes to a file of its
own and leaves its key (M). Numbers stay as written: DynamoDB would refuse floats and round large ones.
"""

import zlib
from collections.abc import Callable
from typing import Any, Protocol
from uuid import uuid4

MAX_PLAIN_CHARS = 4_000  # characters
MAX_INLINE_BYTES = 300_000  # bytes after compression

Attribute = dict[str, Any]


class OverflowStore(Protocol):
    """Where payloads go that an item cannot hold. Blocks."""

    def put(self, key: str, content: bytes) -> None: ...

    def get(self, key: str) -> bytes: ...


class PayloadCodec:
    def __init__(self, overflow: OverflowStore, new_name: Callable[[], str] = lambda: uuid4().hex) -> None:
        self._overflow = overflow
        self._new_name = new_name

    def encode(self, text: str, prefix: str, max_inline_bytes: int = MAX_INLINE_BYTES) -> Attribute:
        """`prefix` is the folder that a spilled payload goes to; `limit` is in bytes. May block."""
        if len(text) <= MAX_PLAIN_CHARS:
            return {"S": text}
        packed = zlib.compress(text.encode())
        if len(packed) <= max_inline_bytes:
            return {"B": packed}
        key = f"{prefix}spill/{self._new_name()}"
        self._overflow.put(key, packed)
        return {"M": {"key": {"S": key}}}

    def decode(self, attribute: Attribute) -> str:
        """May block."""
        if "S" in attribute:
            return str(attribute["S"])
        packed = attribute["B"] if "B" in attribute else self._overflow.get(attribute["M"]["key"]["S"])
        return zlib.decompress(packed).decode()
