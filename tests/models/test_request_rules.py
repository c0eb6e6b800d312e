"""The stubs reject what their providers reject: otherwise the other tests would prove nothing."""

import copy
from typing import Any

import pytest

from provider_stubs.request_rules import anthropic_faults, bedrock_faults, openai_faults

OPENAI: dict[str, Any] = {
    "model": "gpt-4o",
    "messages": [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Look."},
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{}"}}],
        },
        {"role": "tool", "tool_call_id": "c1", "content": "Red."},
    ],
    "tools": [{"type": "function", "function": {"name": "look", "parameters": {"type": "object"}}}],
}
ANTHROPIC: dict[str, Any] = {
    "model": "claude",
    "max_tokens": 4096,
    "system": [{"type": "text", "text": "Be brief."}],
    "messages": [
        {"role": "user", "content": [{"type": "text", "text": "Look."}]},
        {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": "Hm.", "signature": "s"},
                {"type": "tool_use", "id": "c1", "name": "look", "input": {}},
            ],
        },
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c1", "content": "Red."}]},
    ],
    "tools": [{"name": "look", "input_schema": {"type": "object"}}],
    "thinking": {"type": "enabled", "budget_tokens": 1024},
}
BEDROCK: dict[str, Any] = {
    "system": [{"text": "Be brief."}],
    "messages": [
        {"role": "user", "content": [{"text": "Look."}]},
        {"role": "assistant", "content": [{"toolUse": {"toolUseId": "c1", "name": "look", "input": {}}}]},
        {"role": "user", "content": [{"toolResult": {"toolUseId": "c1", "content": [{"text": "Red."}]}}]},
    ],
    "toolConfig": {"tools": [{"toolSpec": {"name": "look", "inputSchema": {"json": {"type": "object"}}}}]},
}
SPOKEN = {"role": "user", "content": "And?"}


def test_a_proper_transcript_has_no_faults() -> None:
    assert openai_faults(OPENAI) == []
    assert anthropic_faults(ANTHROPIC) == []
    assert bedrock_faults(BEDROCK) == []


@pytest.mark.parametrize(
    ("path", "value", "fault"),
    [
        (("messages", 3), SPOKEN, "did not have response messages"),
        (("messages", 3, "tool_call_id"), "c2", "must be a response to a preceding message"),
        (("messages", 2, "tool_calls", 0, "function", "name"), "look at", "does not match"),
        (("messages", 2, "tool_calls", 0, "function", "arguments"), {}, "expected a string"),
        (("messages", 2, "tool_calls"), [], "needs content or tool_calls"),
        (("messages", 2, "thinking_blocks"), [], "Additional properties"),
        (("messages", 1, "content"), None, "expected a string"),
        (("drop_params",), True, "Extra inputs"),
        (("tools",), [], "too short"),
        (("stream_options",), {"include_usage": True}, "only allowed when 'stream'"),
        (
            ("response_format",),
            {"json_schema": {"name": "x", "strict": True, "schema": {"type": "object"}}},
            "additionalProperties",
        ),
    ],
)
def test_openai_refuses(path: tuple[Any, ...], value: object, fault: str) -> None:
    assert fault in " ".join(openai_faults(_with(OPENAI, path, value)))


def test_openai_refuses_a_choice_without_tools() -> None:
    assert openai_faults({name: value for name, value in OPENAI.items() if name != "tools"} | {"tool_choice": "none"})


@pytest.mark.parametrize(
    ("path", "value", "fault"),
    [
        (("max_tokens",), 0, "max_tokens"),
        (("max_tokens",), 1024, "must be greater than"),
        (("temperature",), 0.5, "may only be set to 1"),
        (("tool_choice",), {"type": "any"}, "forces tool use"),
        (("tools",), [], "must define tools"),
        (("system", 0, "text"), " ", "non-empty"),
        (("messages", 0, "role"), "assistant", "first message must use the user role"),
        (("messages", 0, "content", 0, "text"), "\n", "non-whitespace"),
        (("messages", 2), SPOKEN, "without `tool_result` blocks"),
        (("messages", 2, "content", 0, "tool_use_id"), "c2", "unexpected `tool_use_id`"),
        (("messages", 2, "content", 0, "content"), "", "non-whitespace"),
        (("messages", 2, "content"), [{"type": "text", "text": "x"}, ANTHROPIC["messages"][2]["content"][0]], "first"),
        (("messages", 1, "content", 0, "signature"), "", "signature"),
        (("messages", 1, "content", 0), ANTHROPIC["messages"][1]["content"][1], "unique"),
        (("messages", 1, "content"), ANTHROPIC["messages"][1]["content"][1:], "Expected `thinking`"),
        (("messages", 1, "content", 1, "input"), "{}", "valid dictionary"),
    ],
)
def test_anthropic_refuses(path: tuple[Any, ...], value: object, fault: str) -> None:
    assert fault in " ".join(anthropic_faults(_with(ANTHROPIC, path, value)))


@pytest.mark.parametrize(
    ("path", "value", "fault"),
    [
        (("toolConfig",), None, "toolConfig field must be defined"),
        (("toolConfig", "toolChoice"), {"none": {}}, "must be one of"),
        (("system", 0, "text"), " ", "blank"),
        (("messages", 0, "content", 0, "text"), "", "blank"),
        (("messages", 0, "content"), [], "empty"),
        (("messages", 0, "role"), "assistant", "must start with a user message"),
        (("messages", 1, "role"), "user", "must alternate"),
        (("messages", 2, "content", 0), {"text": "And?"}, "Expected toolResult blocks"),
        (("messages", 2, "content", 0, "toolResult", "content", 0, "text"), " ", "blank"),
        (("messages", 2, "content"), BEDROCK["messages"][2]["content"] * 2, "exceeds the number"),
        (("messages", 1, "content", 0, "toolUse", "input"), "{}", "json object"),
        (("messages", 1, "content", 0, "toolUse", "name"), "look at", "does not match"),
    ],
)
def test_bedrock_refuses(path: tuple[Any, ...], value: object, fault: str) -> None:
    assert fault in " ".join(bedrock_faults(_with(BEDROCK, path, value)))


def _with(body: dict[str, Any], path: tuple[Any, ...], value: object) -> dict[str, Any]:
    changed = copy.deepcopy(body)
    at: Any = changed
    for step in path[:-1]:
        at = at[step]
    at[path[-1]] = value
    return changed
