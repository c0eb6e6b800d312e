"""Malformed model output, in both tool protocols."""

import json
from collections.abc import Iterator
from dataclasses import dataclass

from agentfn.models import ModelRequest, ModelResponse, ToolCall, Usage
from agentfn.models.messages import FinishReason
from agentfn.testing import ScriptedModel
from agentfn.testing.scripted_model import ScriptedAnswer

NO_USAGE = Usage()
LONE_SURROGATE = "\ud83d"  # half of a character
MAX_MODEL_CALLS = 150  # that a loop may make; more means that it never ends

# Control characters, direction marks and lone surrogates.
ODD_TEXTS = [
    "日本 😀",
    "a\x00b",
    "\u202eetirw\u202c",
    f"a{LONE_SURROGATE}b",
    "\ufeff",
    "é" * 300,
    "{",
    '"',
    "```",
    "\\",
]
ODD_NAMES = [
    "Look",
    "LOOK",
    "look ",
    "look.at",
    "functions.look",
    "смотри",
    "look\u202e",
    "look\x00",
    LONE_SURROGATE,
    "x" * 1_000,
]
ODD_IDS = ["", " ", "call_1_1", "a/b", "a\x00", LONE_SURROGATE, "\u202e", "é" * 200, "call_2"]
ODD_ARGUMENTS = [
    "",
    " ",
    "null",
    "[]",
    "[1]",
    "7",
    "true",
    '"x"',
    "x",
    "{",
    '{"at": "x',
    '{"at": NaN}',
    '{"at": 1e999}',
    '{"seat": "one"}',
    '{"nothing": 1}',
    '"{\\"at\\": \\"x\\"}"',
    f'{{"at": "{LONE_SURROGATE}"}}',
    '{"at": "\\ud83d"}',
    '{"at": "\\u0000"}',
    "[" * 3_000,
]


@dataclass(frozen=True)
class ProtocolSpeaker:
    """Makes the same response in either protocol. The arguments are raw text and not encoded."""

    protocol: str

    @property
    def native(self) -> bool:
        return self.protocol == "native"

    def call(
        self,
        name: str,
        arguments: str = "{}",
        *,
        text: str = "",
        finish: FinishReason = "tool_calls",
        usage: Usage = NO_USAGE,
    ) -> ModelResponse:
        if self.native:
            return ModelResponse(text, (ToolCall("", name, arguments),), usage, finish)
        return ModelResponse(
            json_action(name, arguments, text), (), usage, "stop" if finish == "tool_calls" else finish
        )

    def answer(self, text: str, *, finish: FinishReason = "stop", usage: Usage = NO_USAGE) -> ModelResponse:
        if self.native:
            return ModelResponse(text, (), usage, finish)
        return ModelResponse(json_action("final_answer", json.dumps({"text": text})), (), usage, finish)


def json_action(name: str, arguments: str, thought: str = "") -> str:
    return f'{{"thought": {json.dumps(thought)}, "tool": {json.dumps(name)}, "args": {arguments}}}'


def endless_model(lines: Iterator[ScriptedAnswer], *, closing: ScriptedAnswer | None = None) -> ScriptedModel:
    """A model with endless responses; with `closing`, it answers that when its tools are off."""

    def answer(prompt: ModelRequest) -> ScriptedAnswer:
        assert len(model.requests) < MAX_MODEL_CALLS, "this loop has no end"
        return closing if closing is not None and is_closing(prompt) else next(lines)

    model = ScriptedModel.from_function(answer)
    return model


def is_closing(prompt: ModelRequest) -> bool:
    """Whether it is a closing request: tools are off, which in plain text the instructions say."""
    return prompt.tool_choice == "none" or "tools are off" in prompt.turns[-1].text.lower()
