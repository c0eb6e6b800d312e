"""Bodies as JSON: read so that all readers would agree on them, and written short."""

import json
import math
from collections.abc import Iterable
from typing import Any

from agentfn.json_numbers import carried

LONGEST_NUMBER = 1_000  # digits; Python's own limit is 4,300


class Unreadable(ValueError):  # noqa: N818 - it reads as a state
    """A body that is no JSON, or that readers of JSON do not agree on."""


def read(body: bytes) -> tuple[Any, bytes]:
    """What it says, and the body as the sdk may have it. Raises Unreadable."""
    try:
        said = json.loads(
            body, object_pairs_hook=_once, parse_int=_whole, parse_float=_finite, parse_constant=_no_number
        )
        return said, write(carried(said))
    except Unreadable:
        raise
    except UnicodeEncodeError:
        raise Unreadable("the body has half of a surrogate pair, which is no character") from None
    except RecursionError:
        raise Unreadable("the body is nested too deep") from None
    except ValueError as error:
        raise Unreadable(f"the body is no JSON that can be read: {error}") from None


def write(said: Any) -> bytes:
    return json.dumps(said, ensure_ascii=False, separators=(",", ":")).encode()


def _once(members: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    shape: dict[str, Any] = {}
    for name, value in members:
        if name in shape:
            raise Unreadable(f"an object has {json.dumps(name[:100])} twice")
        shape[name] = value
    return shape


def _whole(text: str) -> int:
    if len(text) > LONGEST_NUMBER:
        raise Unreadable(f"a number has {len(text):,} digits; {LONGEST_NUMBER:,} are allowed. Send it as a string")
    return int(text)


def _finite(text: str) -> float:
    if not math.isfinite(value := float(text)):
        raise Unreadable(f"the number {text[:40]} is beyond the range of a double. Send it as a string")
    return value


def _no_number(text: str) -> float:
    raise Unreadable(f"{text} is no number in JSON")
