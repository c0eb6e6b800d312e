"""What each provider rejects in a request, by its documentation: a stub answers 400 with the first of these.

    assert openai_faults(body) == []

Sources: https://platform.openai.com/docs/api-reference/chat/create, https://platform.openai.com/docs/guides/structured-outputs,
https://docs.anthropic.com/en/api/messages, https://docs.anthropic.com/en/docs/build-with-claude/extended-thinking,
https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_Converse.html,
https://docs.aws.amazon.com/bedrock/latest/userguide/tool-use-inference-call.html
"""

import json
import re
from collections.abc import Iterator
from typing import Any

from provider_stubs.script import Dialect

Body = dict[str, Any]

OPENAI_FIELDS = {
    "model", "messages", "tools", "tool_choice", "parallel_tool_calls", "response_format", "stream", "stream_options",
    "temperature", "top_p", "max_tokens", "max_completion_tokens", "seed", "stop", "reasoning_effort", "user",
}  # fmt: skip
OPENAI_MESSAGE = {
    "system": {"role", "content", "name"},
    "developer": {"role", "content", "name"},
    "user": {"role", "content", "name"},
    "assistant": {"role", "content", "name", "tool_calls", "refusal"},
    "tool": {"role", "content", "tool_call_id", "name"},  # `name` is not documented, and let pass
}
ANTHROPIC_FIELDS = {
    "model", "messages", "system", "max_tokens", "tools", "tool_choice", "stream", "temperature", "top_p", "top_k",
    "stop_sequences", "thinking", "metadata", "output_config", "output_format", "service_tier",
}  # fmt: skip
BEDROCK_FIELDS = {
    "messages", "system", "inferenceConfig", "toolConfig", "outputConfig", "additionalModelRequestFields",
    "additionalModelResponseFieldPaths", "requestMetadata", "performanceConfig", "guardrailConfig", "serviceTier",
}  # fmt: skip


def request_faults(dialect: Dialect, body: Body) -> list[str]:
    return {"openai": openai_faults, "anthropic": anthropic_faults, "bedrock": bedrock_faults}[dialect](body)


def openai_faults(body: Body) -> list[str]:
    return [
        *_unknown(body, OPENAI_FIELDS),
        *_openai_options(body),
        *_openai_messages(body.get("messages") or []),
    ]


def anthropic_faults(body: Body) -> list[str]:
    return [
        *_unknown(body, ANTHROPIC_FIELDS),
        *_anthropic_options(body),
        *_anthropic_messages(body.get("messages") or []),
        *_anthropic_thinking(body),
    ]


def bedrock_faults(body: Body) -> list[str]:
    return [
        *_unknown(body, BEDROCK_FIELDS),
        *_bedrock_options(body),
        *_bedrock_messages(body.get("messages") or []),
    ]


def _unknown(body: Body, known: set[str]) -> Iterator[str]:
    if extra := set(body) - known:
        yield f"{sorted(extra)}: Extra inputs are not permitted"
    if not body.get("messages"):
        yield "messages: at least one message is required"


# OpenAI


def _openai_options(body: Body) -> Iterator[str]:
    tools = body.get("tools")
    if tools is None and ("tool_choice" in body or "parallel_tool_calls" in body):
        yield "'tool_choice' is only allowed when 'tools' are specified."
    if tools == []:
        yield "[] is too short - 'tools'"
    yield from _names([tool["function"]["name"] for tool in tools or ()], r"[a-zA-Z0-9_-]{1,64}", "tools")
    if "stream_options" in body and not body.get("stream"):
        yield "The 'stream_options' parameter is only allowed when 'stream' is enabled."
    shape = (body.get("response_format") or {}).get("json_schema")
    if shape is not None:
        yield from _names([shape.get("name", "")], r"[a-zA-Z0-9_-]{1,64}", "response_format.json_schema.name")
        if shape.get("strict"):
            yield from _strict(shape.get("schema"))


def _openai_messages(messages: list[Body]) -> Iterator[str]:
    open_ids: list[str] = []
    for place, message in enumerate(messages):
        role, at = message.get("role", ""), f"messages[{place}]"
        if extra := set(message) - OPENAI_MESSAGE.get(role, set()):
            yield f"Additional properties are not allowed ({sorted(extra)}) - '{at}'"
        if role == "tool":
            if message.get("tool_call_id") not in open_ids:
                yield f"{at}: messages with role 'tool' must be a response to a preceding message with 'tool_calls'."
            else:
                open_ids.remove(message["tool_call_id"])
        elif open_ids:
            yield f"{at}: these tool_call_ids did not have response messages: {open_ids}"
            open_ids = []
        if role == "assistant":
            open_ids = [call.get("id", "") for call in message.get("tool_calls") or ()]
            yield from _openai_calls(message, at)
        elif not isinstance(message.get("content"), str | list):
            yield f"Invalid value for 'content': expected a string, got null - '{at}.content'"
    if open_ids:
        yield f"these tool_call_ids did not have response messages: {open_ids}"


def _openai_calls(message: Body, at: str) -> Iterator[str]:
    calls = message.get("tool_calls")
    if calls == [] or (calls is None and message.get("content") is None):
        yield f"{at}: an assistant message needs content or tool_calls"
    yield from _ids([call.get("id") for call in calls or ()], r".{1,40}", at)
    for call in calls or ():
        yield from _names([call["function"]["name"]], r"[a-zA-Z0-9_-]{1,64}", f"{at}.tool_calls")
        if not isinstance(call["function"]["arguments"], str):
            yield f"{at}.tool_calls.function.arguments: expected a string"


def _strict(schema: Any) -> Iterator[str]:
    """The rules of structured outputs for a strict schema."""
    if isinstance(schema, list):
        for item in schema:
            yield from _strict(item)
    if not isinstance(schema, dict):
        return
    if schema.get("type") == "object":
        if schema.get("additionalProperties") is not False:
            yield "Invalid schema for response_format: 'additionalProperties' is required to be false"
        if set(schema.get("required", ())) != set(schema.get("properties", ())):
            yield "Invalid schema for response_format: 'required' must include every key in properties"
    for key in ("allOf", "oneOf", "not", "if", "patternProperties", "dependentRequired"):
        if key in schema:
            yield f"Invalid schema for response_format: '{key}' is not permitted."
    for value in schema.values():
        yield from _strict(list(value.values()) if isinstance(value, dict) else value)
        yield from _strict(value)


# Anthropic


def _anthropic_options(body: Body) -> Iterator[str]:
    tools = body.get("tools")
    if not isinstance(body.get("max_tokens"), int) or body["max_tokens"] < 1:
        yield "max_tokens: Field required"
    if not tools and "tool_choice" in body:
        yield "tool_choice: may only be specified while providing tools"
    if not tools and any(block["type"].startswith("tool_") for block in _blocks(body.get("messages") or [])):
        yield "Requests which include `tool_use` or `tool_result` blocks must define tools"
    yield from _names([tool["name"] for tool in tools or ()], r"[a-zA-Z0-9_-]{1,128}", "tools")
    system = body.get("system", [])
    for block in [{"text": system}] if isinstance(system, str) else system:
        if not block["text"].strip():
            yield "system: text content blocks must be non-empty"


def _anthropic_messages(messages: list[Body]) -> Iterator[str]:
    merged = _merge_messages(messages)
    if merged and merged[0][0] != "user":
        yield "messages: first message must use the user role"
    asked: list[str] = []
    for place, (role, content) in enumerate(merged):
        at = f"messages.{place}"
        if role not in ("user", "assistant"):
            yield f"{at}.role: Input should be 'user' or 'assistant'"
        yield from _anthropic_blocks(content, at)
        results = [block["tool_use_id"] for block in content if block["type"] == "tool_result"]
        if set(asked) - set(results):
            yield f"{at}: `tool_use` ids were found without `tool_result` blocks immediately after: {asked}"
        if set(results) - set(asked) or len(results) != len(set(results)):
            yield f"{at}: unexpected `tool_use_id` found in `tool_result` blocks: {results}"
        if any(block["type"] != "tool_result" for block in content[: len(results)]):
            yield f"{at}: `tool_result` blocks must come first in the content"
        asked = [block["id"] for block in content if block["type"] == "tool_use"]
        yield from _ids(asked, r"[a-zA-Z0-9_-]+", at)
    if asked:
        yield f"`tool_use` ids were found without `tool_result` blocks immediately after: {asked}"
    if merged and merged[-1][0] == "assistant" and merged[-1][1][-1].get("text", "x")[-1:].isspace():
        yield "messages: final assistant content cannot end with trailing whitespace"


def _merge_messages(messages: list[Body]) -> list[tuple[str, list[Body]]]:
    """Merges consecutive messages of one role."""
    merged: list[tuple[str, list[Body]]] = []
    for message in messages:
        content = list(_blocks([message]))
        if merged and merged[-1][0] == message["role"]:
            merged[-1][1].extend(content)
        else:
            merged.append((message["role"], content))
    return merged


def _anthropic_blocks(content: list[Body], at: str) -> Iterator[str]:
    if not content:
        yield f"{at}: all messages must have non-empty content"
    for block in content:
        inner = block.get("content")
        texts = [inner] if isinstance(inner, str) else [part.get("text", "x") for part in inner or ()]
        if block["type"] == "text" or texts:
            for text in texts or [block["text"]]:
                if not text.strip():
                    yield f"{at}: text content blocks must contain non-whitespace text"
        if block["type"] == "tool_use":
            yield from _names([block["name"]], r"[a-zA-Z0-9_-]{1,128}", at)
            if not isinstance(block["input"], dict):
                yield f"{at}.tool_use.input: Input should be a valid dictionary"
        if block["type"] == "thinking" and set(block) - {"type", "thinking", "signature"}:
            yield f"{at}.thinking: Extra inputs are not permitted"
        if block["type"] == "thinking" and not block.get("signature"):
            yield f"{at}.thinking.signature: Field required"


def _anthropic_thinking(body: Body) -> Iterator[str]:
    thinking = body.get("thinking") or {}
    if thinking.get("type") != "enabled":
        return
    if not 1024 <= thinking.get("budget_tokens", 0) < (body.get("max_tokens") or 0):
        yield "`max_tokens` must be greater than `thinking.budget_tokens`, which is at least 1024"
    if body.get("temperature", 1) != 1:
        yield "`temperature` may only be set to 1 when thinking is enabled"
    if (body.get("tool_choice") or {}).get("type") in ("any", "tool"):
        yield "Thinking may not be enabled when tool_choice forces tool use."
    spoken = [list(_blocks([message])) for message in body["messages"] if message["role"] == "assistant"]
    if spoken and any(block["type"] == "tool_use" for block in spoken[-1]) and "thinking" not in spoken[-1][0]["type"]:
        yield "Expected `thinking` or `redacted_thinking`, but found `tool_use`"


def _blocks(messages: list[Body]) -> Iterator[Body]:
    for message in messages:
        content = message["content"]
        yield from [{"type": "text", "text": content}] if isinstance(content, str) else content


# Bedrock


def _bedrock_options(body: Body) -> Iterator[str]:
    config = body.get("toolConfig")
    content = [block for message in body.get("messages") or () for block in message["content"]]
    if config is None and any("toolUse" in block or "toolResult" in block for block in content):
        yield "The toolConfig field must be defined when using toolUse and toolResult content blocks."
    if config is not None:
        tools = [tool["toolSpec"] for tool in config.get("tools", ()) if "toolSpec" in tool]
        if not tools:
            yield "toolConfig.tools: Member must have length greater than or equal to 1"
        yield from _names([tool["name"] for tool in tools], r"[a-zA-Z0-9_-]{1,64}", "toolConfig.tools")
        if any(tool.get("description") == "" for tool in tools):
            yield "toolSpec.description: Member must have length greater than or equal to 1"
        if set(config.get("toolChoice", {})) - {"auto", "any", "tool"}:
            yield "toolConfig.toolChoice: must be one of auto, any, tool"
    for block in body.get("system") or ():
        if not block.get("text", "x").strip():
            yield "The text field in the SystemContentBlock object is blank. Add text to it and try again."


def _bedrock_messages(messages: list[Body]) -> Iterator[str]:
    if messages and messages[0]["role"] != "user":
        yield "A conversation must start with a user message."
    asked: list[str] = []
    for place, message in enumerate(messages):
        at, content = f"messages.{place}.content", message["content"]
        if place and messages[place - 1]["role"] == message["role"]:
            yield f"messages.{place}: roles must alternate between 'user' and 'assistant'"
        if not content:
            yield f"The content field in the Message object at messages.{place} is empty. Add a ContentBlock object."
        for block in content:
            yield from _bedrock_block(block, at)
        results = [block["toolResult"]["toolUseId"] for block in content if "toolResult" in block]
        if missing := [id_ for id_ in asked if id_ not in results]:
            yield f"Expected toolResult blocks at {at} for the following Ids: {', '.join(missing)}"
        if len(results) > len(asked):
            yield f"The number of toolResult blocks at {at} exceeds the number of toolUse blocks of previous turn."
        asked = [block["toolUse"]["toolUseId"] for block in content if "toolUse" in block]
        yield from _ids(asked, r"[a-zA-Z0-9_.:-]{1,64}", at)
    if asked:
        yield f"Expected toolResult blocks for the following Ids: {', '.join(asked)}"


def _bedrock_block(block: Body, at: str) -> Iterator[str]:
    result = block.get("toolResult")
    for part in [block] if result is None else result["content"]:
        if not part.get("text", "x").strip():
            yield f"The text field in the ContentBlock object at {at} is blank. Add text to it and try again."
    if result is not None and not result["content"]:
        yield f"The content field in the ToolResultBlock object at {at} is empty."
    if use := block.get("toolUse"):
        yield from _names([use["name"]], r"[a-zA-Z0-9_-]{1,64}", at)
        if not isinstance(use["input"], dict):
            yield f"The format of the value at {at}.toolUse.input is invalid. Provide a json object for the field."
    signed = (block.get("reasoningContent") or {}).get("reasoningText")
    if signed is not None and not signed.get("signature"):
        yield f"{at}.thinking.signature: Field required"


# All of them


def _names(names: list[str], pattern: str, at: str) -> Iterator[str]:
    for name in names:
        if not isinstance(name, str) or not re.fullmatch(pattern, name):
            yield f"{at}.name: {json.dumps(name)} does not match '^{pattern}$'"


def _ids(ids: list[Any], pattern: str, at: str) -> Iterator[str]:
    if len(ids) != len(set(ids)):
        yield f"{at}: `tool_use` ids must be unique: {ids}"
    for id_ in ids:
        if not isinstance(id_, str) or not re.fullmatch(pattern, id_):
            yield f"{at}: the id {json.dumps(id_)} does not match '^{pattern}$'"
