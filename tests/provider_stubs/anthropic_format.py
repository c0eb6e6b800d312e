"""Anthropic's message format on the wire.

Arguments travel as an object, so text that is not JSON cannot be played in this dialect.
Sources: https://docs.anthropic.com/en/api/messages, https://docs.anthropic.com/en/docs/build-with-claude/streaming
"""

import json
from typing import Any

from provider_stubs.script import ScriptedError, ScriptedReply, split_pieces

PING = b'event: ping\ndata: {"type": "ping"}\n\n'
STOP_REASON = {"stop": "end_turn", "length": "max_tokens", "tool_calls": "tool_use", "content_filter": "refusal"}


def answer(line: ScriptedReply, model: str) -> dict[str, Any]:
    return _message(model, _content(line), STOP_REASON[line.reason], _usage(line))


def events(line: ScriptedReply, model: str) -> list[bytes]:
    begun = _message(model, [], None, {**_usage(line), "output_tokens": 1})
    events = [_event("message_start", message=begun)]
    for index, block in enumerate(_content(line)):
        start, *steps = _block(block)
        events.append(_event("content_block_start", index=index, content_block=start))
        events += [_event("content_block_delta", index=index, delta=step) for step in steps]
        events.append(_event("content_block_stop", index=index))
    stop = {"stop_reason": STOP_REASON[line.reason], "stop_sequence": None}
    events.append(_event("message_delta", delta=stop, usage={"output_tokens": line.completion}))
    return [*events, _event("message_stop")]


def failure(line: ScriptedError) -> dict[str, Any]:
    return {"type": "error", "error": {"type": line.kind, "message": line.message}}


def error_event(line: ScriptedError) -> bytes:
    return _event("error", error=failure(line)["error"])


def _content(line: ScriptedReply) -> list[dict[str, Any]]:
    content: list[dict[str, Any]] = [
        {"type": "thinking", "thinking": text, "signature": sign}
        if text
        else {"type": "redacted_thinking", "data": sign}
        for text, sign in line.thinking
    ]
    content += [{"type": "text", "text": line.text}] if line.text else []
    return content + [
        {"type": "tool_use", "id": id_, "name": name, "input": json.loads(arguments)}
        for id_, name, arguments in line.calls
    ]


def _block(block: dict[str, Any]) -> list[dict[str, Any]]:
    """How a block begins, and the deltas that fill it."""
    match block["type"]:
        case "thinking":
            events = [{"type": "thinking_delta", "thinking": piece} for piece in split_pieces(block["thinking"])]
            return [block | {"thinking": "", "signature": ""}, *events, _signed(block)]
        case "text":
            return [
                block | {"text": ""},
                *[{"type": "text_delta", "text": piece} for piece in split_pieces(block["text"])],
            ]
        case "tool_use":
            written = ["", *split_pieces(json.dumps(block["input"]))] if block["input"] else [""]
            events = [{"type": "input_json_delta", "partial_json": piece} for piece in written]
            return [block | {"input": {}}, *events]
    return [block]


def _signed(block: dict[str, Any]) -> dict[str, Any]:
    return {"type": "signature_delta", "signature": block["signature"]}


def _message(model: str, content: list[Any], reason: str | None, usage: dict[str, Any]) -> dict[str, Any]:
    head = {"id": "msg_1", "type": "message", "role": "assistant", "model": model}
    return {**head, "content": content, "stop_reason": reason, "stop_sequence": None, "usage": usage}


def _usage(line: ScriptedReply) -> dict[str, Any]:
    return {
        "input_tokens": line.prompt - line.cached - line.written,
        "output_tokens": line.completion,
        "cache_read_input_tokens": line.cached,
        "cache_creation_input_tokens": line.written,
    }


def _event(kind: str, **shape: Any) -> bytes:
    return f"event: {kind}\ndata: {json.dumps({'type': kind, **shape})}\n\n".encode()
