"""OpenAI's chat completions on the wire.

Sources: https://platform.openai.com/docs/api-reference/chat, https://platform.openai.com/docs/api-reference/chat-streaming
"""

import json
from typing import Any

from provider_stubs.script import Deltas, ScriptedError, ScriptedReply, split_pieces

DONE = b"data: [DONE]\n\n"
PING = b": keep-alive\n\n"


def answer(line: ScriptedReply, model: str) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": line.text}
    if line.calls:
        message["tool_calls"] = [
            ({"id": id_} if id_ is not None else {})
            | {"type": "function", "function": {"name": name, "arguments": arguments}}
            for id_, name, arguments in line.calls
        ]
    choice = {"index": 0, "message": message, "finish_reason": line.reason}
    head = {"id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": model}
    return {**head, "choices": [choice], "usage": _usage(line)}


def events(line: ScriptedReply | Deltas, model: str, *, usage: bool) -> list[bytes]:
    """Server-sent events. The calls' arguments come in pieces, those of parallel calls by turns."""
    if isinstance(line, Deltas):
        events = [_chunk(model, {**delta}, delta.get("finish_reason")) for delta in line.deltas]
        return events + _ending(line.finish, model, ScriptedReply(), usage)
    parts = [split_pieces(arguments) for _, _, arguments in line.calls]
    steps: list[dict[str, Any]] = [{"role": "assistant", "content": "" if line.text else None}]
    steps += [{"content": piece} for piece in split_pieces(line.text or "")]
    for index, (id_, name, _) in enumerate(line.calls):
        head = {"index": index, "type": "function", "function": {"name": name, "arguments": ""}}
        steps.append({"tool_calls": [head | ({"id": id_} if id_ is not None else {})]})
    for place in range(max(map(len, parts), default=0)):
        steps += [
            {"tool_calls": [{"index": index, "function": {"arguments": part[place]}}]}
            for index, part in enumerate(parts)
            if place < len(part)
        ]
    return [_chunk(model, delta) for delta in steps] + _ending(line.reason, model, line, usage)


def failure(line: ScriptedError) -> dict[str, Any]:
    return {"error": {"message": line.message, "type": line.kind, "param": None, "code": line.kind}}


def error_event(line: ScriptedError) -> bytes:
    return _event(failure(line))


def _ending(finish: str | None, model: str, line: ScriptedReply, usage: bool) -> list[bytes]:
    last = [_chunk(model, {}, finish)] if finish else []
    counted = [_event(_head(model) | {"choices": [], "usage": _usage(line)})] if usage else []
    return [*last, *counted, DONE]


def _chunk(model: str, delta: dict[str, Any], finish: str | None = None) -> bytes:
    choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
    return _event(_head(model) | {"choices": [choice]})


def _head(model: str) -> dict[str, Any]:
    return {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": model}


def _event(shape: dict[str, Any]) -> bytes:
    return f"data: {json.dumps(shape)}\n\n".encode()


def _usage(line: ScriptedReply) -> dict[str, Any]:
    return {
        "prompt_tokens": line.prompt,
        "completion_tokens": line.completion,
        "total_tokens": line.prompt + line.completion,
        "prompt_tokens_details": {"cached_tokens": line.cached},
    }
