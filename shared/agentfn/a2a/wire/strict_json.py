"""Bodies as JSON: read so that all readers would agree on them, and written short."""

import json
import math
from collections.abc import Iterable
from typing import Any

from agentfn.json_numbers import encode_numbers

MAX_NUMBER_DIGITS = 1_000  # digits; Python's own limit is 4,300


class JsonBodyError(ValueError):
    """A body that is no JSON, or that readers of JSON do not agree on."""


def parse_body(body: bytes) -> tuple[Any, bytes]:
    """What it says, and the body as the sdk may have it. Raises Unreadable."""
    try:
        said = json.loads(
            body,
            object_pairs_hook=_unique_members,
            parse_int=_parse_int,
            parse_float=_parse_float,
            parse_constant=_reject_constant,
        )
        return said, serialize_body(encode_numbers(said))
    except JsonBodyError:
        raise
    except UnicodeEncodeError:
        raise JsonBodyError("the body has half of a surrogate pair, which is no character") from None
    except RecursionError:
        raise JsonBodyError("the body is nested too deep") from None
    except ValueError as error:
        raise JsonBodyError(f"the body is no JSON that can be read: {error}") from None


def serialize_body(said: Any) -> bytes:
    return json.dumps(said, ensure_ascii=False, separators=(",", ":")).encode()


def _unique_members(members: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    shape: dict[str, Any] = {}
    for name, value in members:
        if name in shape:
            raise JsonBodyError(f"an object has {json.dumps(name[:100])} twice")
        shape[name] = value
    return shape


def _parse_int(text: str) -> int:
    if len(text) > MAX_NUMBER_DIGITS:
        raise JsonBodyError(
            f"a number has {len(text):,} digits; {MAX_NUMBER_DIGITS:,} are allowed. Send it as a string"
        )
    return int(text)


def _parse_float(text: str) -> float:
    if not math.isfinite(value := float(text)):
        raise JsonBodyError(f"the number {text[:40]} is beyond the range of a double. Send it as a string")
    return value


def _reject_constant(text: str) -> float:
    raise JsonBodyError(f"{text} is no number in JSON")
