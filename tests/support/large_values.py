"""Large texts, and the size of items."""

import random
from typing import Any

MAX_ITEM_BYTES = 400 * 1024  # DynamoDB's limit


def random_text(size: int, seed: int = 1) -> str:
    """Text that does not compress well."""
    return random.Random(seed).randbytes(size // 2).hex()


def item_bytes(value: Any) -> int:
    """The size of an item in bytes, slightly more than DynamoDB counts."""
    match value:
        case dict():
            return sum(len(name) + item_bytes(inner) for name, inner in value.items())
        case str():
            return len(value.encode())
        case bytes():
            return len(value)
        case _:
            return 1
