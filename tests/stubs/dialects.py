"""How two providers write an answer and an error.

Sources: https://platform.openai.com/docs/api-reference/chat, https://docs.anthropic.com/en/api/messages
"""

import json
from dataclasses import dataclass, field
from typing import Any, Literal

Dialect = Literal["openai", "anthropic"]


@dataclass(frozen=True)
class Said:
    """A model's answer. `calls` are id, name, arguments; `finish` is OpenAI's word, None for the usual one."""

    text: str | None = None
    calls: tuple[tuple[str | None, str, str], ...] = ()
    finish: str | None = None
    prompt: int = 11
    completion: int = 7
    cached: int = 0


@dataclass(frozen=True)
class Failed:
    status: int
    kind: str
    message: str
    headers: dict[str, str] = field(default_factory=dict)


def _openai(line: Said, model: str) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": line.text}
    if line.calls:
        message["tool_calls"] = [
            ({"id": id_} if id_ is not None else {})
            | {"type": "function", "function": {"name": name, "arguments": arguments}}
            for id_, name, arguments in line.calls
        ]
    finish = line.finish or ("tool_calls" if line.calls else "stop")
    usage = {
        "prompt_tokens": line.prompt,
        "completion_tokens": line.completion,
        "total_tokens": line.prompt + line.completion,
        "prompt_tokens_details": {"cached_tokens": line.cached},
    }
    choice = {"index": 0, "message": message, "finish_reason": finish}
    return {
        "id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": model,
        "choices": [choice], "usage": usage,
    }  # fmt: skip


_STOP_REASON = {"stop": "end_turn", "length": "max_tokens", "tool_calls": "tool_use", "content_filter": "refusal"}


def _anthropic(line: Said, model: str) -> dict[str, Any]:
    """Arguments travel as an object here, so text that is not JSON cannot be played in this dialect."""
    content: list[dict[str, Any]] = [{"type": "text", "text": line.text}] if line.text else []
    content += [
        {"type": "tool_use", "id": id_, "name": name, "input": json.loads(arguments)}
        for id_, name, arguments in line.calls
    ]
    finish = line.finish or ("tool_calls" if line.calls else "stop")
    usage = {
        "input_tokens": line.prompt - line.cached,
        "output_tokens": line.completion,
        "cache_read_input_tokens": line.cached,
        "cache_creation_input_tokens": 0,
    }
    return {
        "id": "msg_1", "type": "message", "role": "assistant", "model": model, "content": content,
        "stop_reason": _STOP_REASON[finish], "stop_sequence": None, "usage": usage,
    }  # fmt: skip


def answer(dialect: Dialect, line: Said, model: str) -> dict[str, Any]:
    return _anthropic(line, model) if dialect == "anthropic" else _openai(line, model)


def failure(dialect: Dialect, line: Failed) -> dict[str, Any]:
    if dialect == "anthropic":
        return {"type": "error", "error": {"type": line.kind, "message": line.message}}
    return {"error": {"message": line.message, "type": line.kind, "param": None, "code": line.kind}}
