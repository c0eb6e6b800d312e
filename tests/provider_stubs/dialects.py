"""Responses, streams and errors in the dialect of each provider."""

from typing import Any

from provider_stubs import anthropic_format, bedrock_format, openai_format
from provider_stubs.script import BrokenStream, Deltas, Dialect, RepeatedEvents, ScriptedError, ScriptedReply

__all__ = ["Dialect", "ScriptedError", "ScriptedReply", "answer", "dialect_of", "failure", "streamed"]

SSE = "text/event-stream; charset=utf-8"
CONTENT_TYPE = {"openai": SSE, "anthropic": SSE, "bedrock": "application/vnd.amazon.eventstream"}
PINGS = {"openai": openai_format.PING, "anthropic": anthropic_format.PING, "bedrock": b""}


def dialect_of(path: str) -> Dialect:
    if path.endswith("/messages"):
        return "anthropic"
    return "bedrock" if path.startswith("/model/") else "openai"


def streams(path: str, body: dict[str, Any]) -> bool:
    return path.endswith("/converse-stream") or body.get("stream") is True


def answer(dialect: Dialect, line: ScriptedReply, model: str) -> dict[str, Any]:
    if dialect == "bedrock":
        return bedrock_format.answer(line)
    return anthropic_format.answer(line, model) if dialect == "anthropic" else openai_format.answer(line, model)


def streamed(
    dialect: Dialect, line: ScriptedReply | Deltas | BrokenStream | RepeatedEvents, body: dict[str, Any]
) -> list[bytes]:
    """The events of a response, each of the first ones followed by a ping where the dialect has one."""
    match line:
        case BrokenStream(whole, after, _, error):
            events = streamed(dialect, whole, body)[:after]
            return events + ([_error_event(dialect, error)] if error else [])
        case RepeatedEvents(whole, places):
            events = streamed(dialect, whole, body)
            return [event for place, event in enumerate(events) for _ in range(1 + (place in places))]
    return [event + PINGS[dialect] for event in _events(dialect, line, body)]


def failure(dialect: Dialect, line: ScriptedError) -> tuple[dict[str, Any], dict[str, str]]:
    """The body and headers of an error."""
    if dialect == "bedrock":
        return bedrock_format.failure(line), {
            "x-amzn-errortype": f"{line.kind}:http://internal.amazon.com/",
            **line.headers,
        }
    return (anthropic_format if dialect == "anthropic" else openai_format).failure(line), line.headers


def _events(dialect: Dialect, line: ScriptedReply | Deltas, body: dict[str, Any]) -> list[bytes]:
    if dialect == "openai":
        usage = (body.get("stream_options") or {}).get("include_usage") is True
        return openai_format.events(line, str(body.get("model")), usage=usage)
    if isinstance(line, Deltas):
        raise TypeError("deltas are OpenAI's")
    return (
        bedrock_format.events(line) if dialect == "bedrock" else anthropic_format.events(line, str(body.get("model")))
    )


def _error_event(dialect: Dialect, error: ScriptedError) -> bytes:
    match dialect:
        case "openai":
            return openai_format.error_event(error)
        case "anthropic":
            return anthropic_format.error_event(error)
        case "bedrock":
            return bedrock_format.error_event(error)
