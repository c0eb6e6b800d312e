"""How each provider writes an answer, a stream and an error."""

from typing import Any

from stubs import anthropic, bedrock, openai
from stubs.lines import Broken, Deltas, Dialect, Failed, Repeated, Said

__all__ = ["Dialect", "Failed", "Said", "answer", "dialect_of", "failure", "streamed"]

SSE = "text/event-stream; charset=utf-8"
CONTENT_TYPE = {"openai": SSE, "anthropic": SSE, "bedrock": "application/vnd.amazon.eventstream"}
PINGS = {"openai": openai.PING, "anthropic": anthropic.PING, "bedrock": b""}


def dialect_of(path: str) -> Dialect:
    if path.endswith("/messages"):
        return "anthropic"
    return "bedrock" if path.startswith("/model/") else "openai"


def streams(path: str, body: dict[str, Any]) -> bool:
    return path.endswith("/converse-stream") or body.get("stream") is True


def answer(dialect: Dialect, line: Said, model: str) -> dict[str, Any]:
    if dialect == "bedrock":
        return bedrock.answer(line)
    return anthropic.answer(line, model) if dialect == "anthropic" else openai.answer(line, model)


def streamed(dialect: Dialect, line: Said | Deltas | Broken | Repeated, body: dict[str, Any]) -> list[bytes]:
    """The events of an answer, each of the first ones followed by a sign of life where the dialect has such."""
    match line:
        case Broken(whole, after, _, error):
            events = streamed(dialect, whole, body)[:after]
            return events + ([_error_event(dialect, error)] if error else [])
        case Repeated(whole, places):
            events = streamed(dialect, whole, body)
            return [event for place, event in enumerate(events) for _ in range(1 + (place in places))]
    return [event + PINGS[dialect] for event in _events(dialect, line, body)]


def failure(dialect: Dialect, line: Failed) -> tuple[dict[str, Any], dict[str, str]]:
    """Body and headers."""
    if dialect == "bedrock":
        return bedrock.failure(line), {"x-amzn-errortype": f"{line.kind}:http://internal.amazon.com/", **line.headers}
    return (anthropic if dialect == "anthropic" else openai).failure(line), line.headers


def _events(dialect: Dialect, line: Said | Deltas, body: dict[str, Any]) -> list[bytes]:
    if dialect == "openai":
        usage = (body.get("stream_options") or {}).get("include_usage") is True
        return openai.events(line, str(body.get("model")), usage=usage)
    if isinstance(line, Deltas):
        raise TypeError("deltas are OpenAI's")
    return bedrock.events(line) if dialect == "bedrock" else anthropic.events(line, str(body.get("model")))


def _error_event(dialect: Dialect, error: Failed) -> bytes:
    match dialect:
        case "openai":
            return openai.error_event(error)
        case "anthropic":
            return anthropic.error_event(error)
        case "bedrock":
            return bedrock.error_event(error)
