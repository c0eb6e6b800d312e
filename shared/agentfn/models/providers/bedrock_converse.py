"""Bedrock's Converse: a request in OpenAI's words put into its own, and its answers read.

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
from agentfn.models.profiles import reasoning_fields

type Block = dict[str, Any]

INFERENCE_FIELDS = {
    "temperature": "temperature",
    "max_tokens": "maxTokens",
    "max_completion_tokens": "maxTokens",
    "stop": "stopSequences",
}
OPAQUE_PREFIX = "base64:"
REMOVED_TOOL_TEXT = "Not offered any more."


def request_body(request: ChatRequest, model: str, known: ModelInfo) -> Block:
    """What is asked of the model of this id. Bedrock has no seed, and no word for a choice of none."""
    spoken = request["messages"]
    settings = {ours: request[name] for name, ours in INFERENCE_FIELDS.items() if name in request}
    thought, settings = reasoning_fields(request.get("reasoning_effort"), model, known, settings)
    parts = {
        "messages": _converse_messages([message for message in spoken if message["role"] != "system"]),
        "system": [{"text": message["content"]} for message in spoken if message["role"] == "system"],
        "inferenceConfig": settings,
        "toolConfig": _tool_config(
            request, forced=request.get("tool_choice") == "required" and "thinking" not in thought
        ),
        "outputConfig": _output_config(request.get("response_format")),
        "additionalModelRequestFields": thought,
    }
    return {name: part for name, part in parts.items() if part}


def parse_response(shape: Any) -> tuple[ModelResponse, TokenCounts] | None:
    """None where there is nothing in it."""
    if not shape.get("output"):
        return None
    blocks = shape["output"]["message"]["content"]
    uses = [block["toolUse"] for block in blocks if "toolUse" in block]
    calls = tuple(ToolCall(use["toolUseId"], use["name"], json.dumps(use["input"], ensure_ascii=False)) for use in uses)
    text = "".join(block["text"] for block in blocks if "text" in block)
    thoughts = signed_thinking(
        thinking_block(block["reasoningContent"]) for block in blocks if "reasoningContent" in block
    )
    reply = ModelResponse(text, calls, finish_reason=finish_reason(shape.get("stopReason"), calls), thinking=thoughts)
    return reply, token_counts(shape.get("usage") or {})


def thinking_block(content: Block) -> Block:
    """A block, or a piece of one, in Anthropic's words, in which transcripts keep it."""
    if "redactedContent" in content:
        return {"type": "redacted_thinking", "data": _decode_redacted(content["redactedContent"])}
    piece = content.get("reasoningText") or content
    return {"type": "thinking", "thinking": piece.get("text") or "", "signature": piece.get("signature") or ""}


def token_counts(usage: Block) -> TokenCounts:
    """What was read from a cache, or put into one, comes on top of the other tokens."""
    read, written = usage.get("cacheReadInputTokens") or 0, usage.get("cacheWriteInputTokens") or 0
    return TokenCounts((usage.get("inputTokens") or 0) + read + written, usage.get("outputTokens") or 0, read, written)


def _converse_messages(spoken: list[Block]) -> list[Block]:
    """Roles alternate and the user begins, so neighbours of one role are one turn: all results of a turn's calls are
    in the next one, before what the user said.
    """
    turns: list[Block] = []
    for message in spoken:
        role = "assistant" if message["role"] == "assistant" else "user"
        if not turns and role == "assistant":
            turns.append({"role": "user", "content": [{"text": EMPTY_TEXT}]})
        if turns and turns[-1]["role"] == role:
            turns[-1]["content"] += _content_blocks(message)
        else:
            turns.append({"role": role, "content": _content_blocks(message)})
    return turns


def _content_blocks(message: Block) -> list[Block]:
    if message["role"] == "tool":
        result = {"toolUseId": message["tool_call_id"], "content": [{"text": message["content"]}]}
        return [{"toolResult": result}]
    said = [{"text": message["content"]}] if message["content"] else []
    uses = [
        {"toolUseId": call["id"], "name": call["function"]["name"], "input": json.loads(call["function"]["arguments"])}
        for call in message.get("tool_calls") or ()
    ]
    return [*map(_reasoning_block, message.get("thinking_blocks") or ()), *said, *({"toolUse": use} for use in uses)]


def _reasoning_block(block: Block) -> Block:
    if block.get("data"):
        data: str = block["data"]
        wrapped = (
            data.removeprefix(OPAQUE_PREFIX) if data.startswith(OPAQUE_PREFIX) else b64encode(data.encode()).decode()
        )
        return {"reasoningContent": {"redactedContent": wrapped}}
    return {"reasoningContent": {"reasoningText": {"text": block["thinking"], "signature": block["signature"]}}}


def _decode_redacted(redacted: str) -> str:
    """Claude's own text of a redacted thought, as its other providers give it. What else it may be is kept as it is."""
    try:
        return b64decode(redacted).decode("ascii")
    except ValueError:
        return OPAQUE_PREFIX + redacted


def _tool_config(request: ChatRequest, *, forced: bool) -> Block:
    """Declared wherever a transcript has calls, be they of tools that this request does not offer."""
    offered = [tool["function"] for tool in request.get("tools") or ()]
    called = {call["function"]["name"] for message in request["messages"] for call in message.get("tool_calls") or ()}
    gone = [{"name": name, "description": REMOVED_TOOL_TEXT} for name in sorted(called)] if not offered else []
    specs = [{"toolSpec": _tool_spec(function)} for function in offered or gone]
    return {"tools": specs, **({"toolChoice": {"any": {}}} if forced else {})} if specs else {}


def _tool_spec(function: Block) -> Block:
    described = {"description": function["description"]} if (function.get("description") or "").strip() else {}
    schema = {"type": "object", "properties": {}} | (function.get("parameters") or {})
    return {"name": function["name"], **described, "inputSchema": {"json": schema}}


def _output_config(response_format: Block | None) -> Block:
    if response_format is None:
        return {}
    wanted = response_format["json_schema"]
    structure = {"jsonSchema": {"name": wanted["name"], "schema": json.dumps(wanted["schema"])}}
    return {"textFormat": {"type": "json_schema", "structure": structure}}
