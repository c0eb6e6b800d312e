"""Bedrock's Converse format on the wire.

Arguments travel as an object, so text that is not JSON cannot be played in this dialect.
Sources: https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_Converse.html,
https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ConverseStream.html
"""

import json
from base64 import b64encode
from typing import Any

from provider_stubs.event_stream import event, exception
from provider_stubs.script import ScriptedError, ScriptedReply, split_pieces

STOP_REASON = {
    "stop": "end_turn",
    "length": "max_tokens",
    "tool_calls": "tool_use",
    "content_filter": "content_filtered",
}


def answer(line: ScriptedReply) -> dict[str, Any]:
    message = {"role": "assistant", "content": _content(line)}
    stop = {"stopReason": STOP_REASON[line.reason]}
    return {"output": {"message": message}, **stop, "usage": _usage(line), "metrics": {"latencyMs": 1}}


def events(line: ScriptedReply) -> list[bytes]:
    """A text block has no start event, as on the real wire."""
    events = [event("messageStart", {"role": "assistant"})]
    for index, block in enumerate(_content(line)):
        place = {"contentBlockIndex": index}
        if "toolUse" in block:
            start = {name: block["toolUse"][name] for name in ("toolUseId", "name")}
            events.append(event("contentBlockStart", {"start": {"toolUse": start}, **place}))
        events += [event("contentBlockDelta", {"delta": step, **place}) for step in _steps(block)]
        events.append(event("contentBlockStop", place))
    events.append(event("messageStop", {"stopReason": STOP_REASON[line.reason]}))
    return [*events, event("metadata", {"usage": _usage(line), "metrics": {"latencyMs": 1}})]


def failure(line: ScriptedError) -> dict[str, Any]:
    """The kind goes into the header x-amzn-ErrorType."""
    return {"message": line.message}


def error_event(line: ScriptedError) -> bytes:
    return exception(line.kind[:1].lower() + line.kind[1:], failure(line))


def _content(line: ScriptedReply) -> list[dict[str, Any]]:
    content: list[dict[str, Any]] = [
        {"reasoningContent": {"reasoningText": {"text": text, "signature": sign}}}
        if text
        else {"reasoningContent": {"redactedContent": b64encode(sign.encode()).decode()}}
        for text, sign in line.thinking
    ]
    content += [{"text": line.text}] if line.text else []
    return content + [
        {"toolUse": {"toolUseId": id_, "name": name, "input": json.loads(arguments)}}
        for id_, name, arguments in line.calls
    ]


def _steps(block: dict[str, Any]) -> list[dict[str, Any]]:
    match block:
        case {"text": text}:
            return [{"text": piece} for piece in split_pieces(text)]
        case {"toolUse": use}:
            written = split_pieces(json.dumps(use["input"])) if use["input"] else [""]
            return [{"toolUse": {"input": piece}} for piece in written]
        case {"reasoningContent": {"reasoningText": {"text": text, "signature": sign}}}:
            events = [{"reasoningContent": {"text": piece}} for piece in split_pieces(text)]
            return [*events, {"reasoningContent": {"signature": sign}}]
    return [{"reasoningContent": block["reasoningContent"]}]


def _usage(line: ScriptedReply) -> dict[str, Any]:
    return {
        "inputTokens": line.prompt - line.cached - line.written,
        "outputTokens": line.completion,
        "totalTokens": line.prompt + line.completion,
        "cacheReadInputTokens": line.cached,
        "cacheWriteInputTokens": line.written,
    }
