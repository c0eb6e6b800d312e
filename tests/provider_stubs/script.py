"""The script of a stub provider: the responses that it plays."""

import json
from dataclasses import dataclass, field
from typing import Any, Literal

Dialect = Literal["openai", "anthropic", "bedrock"]
DIALECTS: tuple[Dialect, ...] = ("openai", "anthropic", "bedrock")


@dataclass(frozen=True)
class ScriptedReply:
    """A model's answer. `calls` are id, name, arguments; `finish` is OpenAI's finish reason, None for the usual one.

    `cached` and `written` are the parts of `prompt` that came from a cache and went into one.
    `thinking` is text and signature of signed blocks; a block without text is a redacted one.
    """

    text: str | None = None
    calls: tuple[tuple[str | None, str, str], ...] = ()
    finish: str | None = None
    prompt: int = 11
    completion: int = 7
    cached: int = 0
    written: int = 0
    thinking: tuple[tuple[str, str], ...] = ()

    @property
    def reason(self) -> str:
        return self.finish or ("tool_calls" if self.calls else "stop")


@dataclass(frozen=True)
class ScriptedError:
    status: int
    kind: str
    message: str
    headers: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class NoResponse:
    """An answer that never ends: silence, a byte now and then, or a closed connection."""

    kind: Literal["hang", "trickle", "drop"]


@dataclass(frozen=True)
class RawBody:
    """A body of any shape, with status 200."""

    shape: dict[str, Any]


@dataclass(frozen=True)
class Deltas:
    """A stream in OpenAI's format whose chunks have these deltas and a finish reason."""

    deltas: tuple[dict[str, Any], ...]
    finish: str | None = "tool_calls"


@dataclass(frozen=True)
class BrokenStream:
    """A stream that plays `after` events of an answer and then ends: politely, by a reset, with an error, or never."""

    line: ScriptedReply | Deltas
    after: int
    ending: Literal["end", "reset", "error", "hang"] = "end"
    error: ScriptedError | None = None


@dataclass(frozen=True)
class RepeatedEvents:
    """A stream in which the events at these indices are repeated."""

    line: ScriptedReply | Deltas
    places: tuple[int, ...]


ScriptEntry = ScriptedReply | ScriptedError | NoResponse | RawBody | Deltas | BrokenStream | RepeatedEvents


def says(text: str | None, *, cached: int = 0, finish: str | None = None) -> ScriptedReply:
    return ScriptedReply(text, cached=cached, finish=finish)


def calls(*these: tuple[str | None, str, Any], text: str | None = None, finish: str | None = None) -> ScriptedReply:
    """A reply with tool calls. Arguments that are not text are written as JSON; text is sent unchanged."""
    raw = tuple((id_, name, args if isinstance(args, str) else json.dumps(args)) for id_, name, args in these)
    return ScriptedReply(text, raw, finish)


def deltas(*these: dict[str, Any], finish: str | None = "tool_calls") -> Deltas:
    return Deltas(these, finish)


def fails(status: int, message: str = "no", *, kind: str = "some_error", retry_after: str = "") -> ScriptedError:
    return ScriptedError(status, kind, message, {"retry-after": retry_after} if retry_after else {})


def hangs() -> NoResponse:
    return NoResponse("hang")


def trickles() -> NoResponse:
    return NoResponse("trickle")


def drops() -> NoResponse:
    return NoResponse("drop")


def split_pieces(text: str) -> list[str]:
    """Splits text into a few pieces for streaming, none of them empty."""
    size = max(1, -(-len(text) // 3))
    return [text[start : start + size] for start in range(0, len(text), size)]
