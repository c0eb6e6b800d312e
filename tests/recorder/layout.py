"""How a text of the wire is written into a recording: so that it can be read, and without loss."""

import base64
import json
from typing import Any

WIDTH = 150


def compact(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def spaced(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def readable(text: str) -> Any:
    """JSON as JSON, under the name of the layout that gives exactly this text again; anything else as it is."""
    if not text:
        return ""
    try:
        value = json.loads(text)
    except ValueError:
        return events(text)
    for write in (compact, spaced, compact_ascii, spaced_ascii):
        if isinstance(value, dict | list) and write(value) == text:
            return {f"json {write.__name__}": value}
    return {"text": text}


def compact_ascii(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"))


def spaced_ascii(value: Any) -> str:
    return json.dumps(value)


def events(text: str) -> Any:
    """Server-sent events: a list of what their data lines hold."""
    if not text.endswith("\n\n"):
        return {"text": text}
    blocks = text.removesuffix("\n\n").split("\n\n")
    told = [_event(block) for block in blocks]
    return {"events": told}


def _event(block: str) -> Any:
    start, _, data = block.partition("data: ")
    try:
        value = json.loads(data)
    except ValueError:
        return {"text": block}
    if start or compact(value) != data:
        return {"text": block}
    return value


def decoded(text: str) -> Any:
    """What base64 of JSON holds; the text itself where it is none. Padding and alphabet are in the name."""
    padded = text + "=" * (-len(text) % 4)
    for name, decode in (("base64", base64.b64decode), ("base64url", base64.urlsafe_b64decode)):
        try:
            inner = readable(decode(padded).decode())
        except ValueError:
            continue
        if isinstance(inner, dict) and "text" not in inner:
            return {name if padded == text else f"{name} unpadded": inner}
    return text


def pretty(value: Any, depth: int = 0) -> str:
    """JSON with one line for what fits in it."""
    line = spaced(value)
    if len(line) + depth <= WIDTH or not isinstance(value, dict | list) or not value:
        return line
    indent = " " * (depth + 1)
    if isinstance(value, dict):
        members = [f"{indent}{spaced(name)}: {pretty(inner, depth + 1)}" for name, inner in value.items()]
        return "{\n" + ",\n".join(members) + "\n" + " " * depth + "}"
    return "[\n" + ",\n".join(indent + pretty(inner, depth + 1) for inner in value) + "\n" + " " * depth + "]"
