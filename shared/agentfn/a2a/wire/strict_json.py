"""Strict JSON for request bodies: rejects what JSON parsers understand differently."""

import json
import math
from collections.abc import Iterable
from typing import Any

from agentfn.json_numbers import encode_numbers

MAX_NUMBER_DIGITS = 1_000  # Python's own limit is 4,300


class JsonBodyError(ValueError):
    """The body is not JSON, or JSON that parsers understand differently."""


def parse_body(body: bytes) -> tuple[Any, bytes]:
    """Returns the body's value, and the body for the sdk with numbers encoded. Raises JsonBodyError."""
    try:
        value = json.loads(
            body,
            object_pairs_hook=_unique_members,
            parse_int=_parse_int,
            parse_float=_parse_float,
            parse_constant=_reject_constant,
        )
        return value, serialize_body(encode_numbers(value))
    except JsonBodyError:
        raise
    except UnicodeEncodeError:
        raise JsonBodyError("the body has half of a surrogate pair, which is no character") from None
    except RecursionError:
        raise JsonBodyError("the body is nested too deep") from None
    except ValueError as error:
        raise JsonBodyError(f"the body is no JSON that can be read: {error}") from None


def serialize_body(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


def _unique_members(members: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    result: dict[str, Any] = {}
    for name, value in members:
        if name in result:
            raise JsonBodyError(f"an object has {json.dumps(name[:100])} twice")
        result[name] = value
    return result


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
