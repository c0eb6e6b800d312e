"""Stores JSON text as a DynamoDB attribute, whatever its size.

Short text is stored as it is (S), longer text compressed (B). What does not fit an item of 400 KB is stored compressed
in an object of the bucket, and the attribute has the object's key (M). Numbers stay as they were written: DynamoDB
would refuse floats and round large integers.
"""

import zlib
from collections.abc import Callable
from typing import Any, Protocol
from uuid import uuid4

MAX_PLAIN_CHARS = 4_000
MAX_INLINE_BYTES = 300_000  # after compression


class OverflowStore(Protocol):
    """Stores the payloads that an item cannot hold. Its methods block."""

    def put(self, key: str, content: bytes) -> None: ...

    def get(self, key: str) -> bytes: ...


class PayloadCodec:
    """`new_name` makes a new object name for each payload that is stored in `overflow`."""

    def __init__(self, overflow: OverflowStore, new_name: Callable[[], str] = lambda: uuid4().hex) -> None:
        self._overflow = overflow
        self._new_name = new_name

    def encode(self, text: str, prefix: str, max_inline_bytes: int = MAX_INLINE_BYTES) -> Any:
        """The attribute value for a text. `prefix` is the key prefix of an overflow object. May block."""
        if len(text) <= MAX_PLAIN_CHARS:
            return text
        packed = zlib.compress(text.encode())
        if len(packed) <= max_inline_bytes:
            return packed
        key = f"{prefix}spill/{self._new_name()}"
        self._overflow.put(key, packed)
        return {"key": key}

    def decode(self, value: Any) -> str:
        """The text of an attribute value. May block."""
        if isinstance(value, str):
            return value
        packed = self._overflow.get(value["key"]) if isinstance(value, dict) else bytes(value)
        return zlib.decompress(packed).decode()
