"""The format of Bedrock's Converse API: requests converted from OpenAI's format, and responses parsed.

Sources: https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_Converse.html,
https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ConverseStream.html
"""

import json
from base64 import b64decode, b64encode
from typing import Any

from agentfn.models.messages import ModelResponse, ToolCall
from agentfn.models.openai_format import EMPTY_TEXT, finish_reason, signed_thinking
from agentfn.models.optional_params import ChatRequest
from agentfn.models.prices import ModelInfo, TokenCounts
from agentfn.models.providers.bedrock_profile import reasoning_fields

type Block = dict[str, Any]

INFERENCE_FIELDS = {
    "temperature": "temperature",
    "max_tokens": "maxTokens",
    "max_completion_tokens": "maxTokens",
    "stop": "stopSequences",
}
OPAQUE_PREFIX = "base64:"
REMOVED_TOOL_TEXT = "Not offered any more."


def request_body(request: ChatRequest, model: str, info: ModelInfo) -> Block:
    """The body for the model with this id. Converse has no seed, and no tool choice of none."""
    messages = request["messages"]
    settings = {field: request[name] for name, field in INFERENCE_FIELDS.items() if name in request}
    reasoning, settings = reasoning_fields(request.get("reasoning_effort"), model, info, settings)
    forced = request.get("tool_choice") == "required" and "thinking" not in reasoning
    fields = {
        "messages": _converse_messages([message for message in messages if message["role"] != "system"]),
        "system": [{"text": message["content"]} for message in messages if message["role"] == "system"],
        "inferenceConfig": settings,
        "toolConfig": _tool_config(request, forced=forced),
        "outputConfig": _output_config(request.get("response_format")),
        "additionalModelRequestFields": reasoning,
    }
    return {name: value for name, value in fields.items() if value}


def parse_response(body: Any) -> tuple[ModelResponse, TokenCounts] | None:
    """None where the response is empty."""
    if not body.get("output"):
        return None
    blocks = body["output"]["message"]["content"]
    uses = [block["toolUse"] for block in blocks if "toolUse" in block]
    calls = tuple(ToolCall(use["toolUseId"], use["name"], json.dumps(use["input"], ensure_ascii=False)) for use in uses)
    text = "".join(block["text"] for block in blocks if "text" in block)
    contents = [block["reasoningContent"] for block in blocks if "reasoningContent" in block]
    thinking, reason = signed_thinking(map(thinking_block, contents)), finish_reason(body.get("stopReason"), calls)
    response = ModelResponse(text, calls, finish_reason=reason, thinking=thinking)
    return response, token_counts(body.get("usage") or {})


def thinking_block(content: Block) -> Block:
    """A block, or a piece of one, in Anthropic's format, which transcripts use."""
    if "redactedContent" in content:
        return {"type": "redacted_thinking", "data": _decode_redacted(content["redactedContent"])}
    piece = content.get("reasoningText") or content
    return {"type": "thinking", "thinking": piece.get("text") or "", "signature": piece.get("signature") or ""}


def token_counts(usage: Block) -> TokenCounts:
    """Bedrock's input tokens do not include those that were read from a cache or written to it."""
    read, written = usage.get("cacheReadInputTokens") or 0, usage.get("cacheWriteInputTokens") or 0
    return TokenCounts((usage.get("inputTokens") or 0) + read + written, usage.get("outputTokens") or 0, read, written)


def _converse_messages(messages: list[Block]) -> list[Block]:
    """Merges neighbours of one role, because roles must alternate, and puts a user message first.

    All results of a message's calls are then in the next one, before the user's text.
    """
    merged: list[Block] = []
    for message in messages:
        role = "assistant" if message["role"] == "assistant" else "user"
        if not merged and role == "assistant":
            merged.append({"role": "user", "content": [{"text": EMPTY_TEXT}]})
        if merged and merged[-1]["role"] == role:
            merged[-1]["content"] += _content_blocks(message)
        else:
            merged.append({"role": role, "content": _content_blocks(message)})
    return merged


def _content_blocks(message: Block) -> list[Block]:
    if message["role"] == "tool":
        result = {"toolUseId": message["tool_call_id"], "content": [{"text": message["content"]}]}
        return [{"toolResult": result}]
    texts = [{"text": message["content"]}] if message["content"] else []
    uses = [
        {"toolUseId": call["id"], "name": call["function"]["name"], "input": json.loads(call["function"]["arguments"])}
        for call in message.get("tool_calls") or ()
    ]
    return [*map(_reasoning_block, message.get("thinking_blocks") or ()), *texts, *({"toolUse": use} for use in uses)]


def _reasoning_block(block: Block) -> Block:
    if block.get("data"):
        data: str = block["data"]
        is_encoded = data.startswith(OPAQUE_PREFIX)
        encoded = data.removeprefix(OPAQUE_PREFIX) if is_encoded else b64encode(data.encode()).decode()
        return {"reasoningContent": {"redactedContent": encoded}}
    return {"reasoningContent": {"reasoningText": {"text": block["thinking"], "signature": block["signature"]}}}


def _decode_redacted(redacted: str) -> str:
    """Claude's redacted thinking as text, as its other providers send it. Any other content stays encoded."""
    try:
        return b64decode(redacted).decode("ascii")
    except ValueError:
        return OPAQUE_PREFIX + redacted


def _tool_config(request: ChatRequest, *, forced: bool) -> Block:
    """The tools of the request. Where it has none but the transcript has calls, the tools of those calls: Converse
    needs tools wherever there are calls.
    """
    offered = [tool["function"] for tool in request.get("tools") or ()]
    called = {call["function"]["name"] for message in request["messages"] for call in message.get("tool_calls") or ()}
    removed = [{"name": name, "description": REMOVED_TOOL_TEXT} for name in sorted(called)] if not offered else []
    specs = [{"toolSpec": _tool_spec(function)} for function in offered or removed]
    return {"tools": specs, **({"toolChoice": {"any": {}}} if forced else {})} if specs else {}


def _tool_spec(function: Block) -> Block:
    description = {"description": function["description"]} if (function.get("description") or "").strip() else {}
    schema = {"type": "object", "properties": {}} | (function.get("parameters") or {})
    return {"name": function["name"], **description, "inputSchema": {"json": schema}}


def _output_config(response_format: Block | None) -> Block:
    if response_format is None:
        return {}
    schema = response_format["json_schema"]
    structure = {"jsonSchema": {"name": schema["name"], "schema": json.dumps(schema["schema"])}}
    return {"textFormat": {"type": "json_schema", "structure": structure}}
