"""What models with bad manners say, in both protocols."""

import json
from collections.abc import Iterator
from dataclasses import dataclass

from agentfn.models import ModelRequest, ModelResponse, ToolCall, Usage
from agentfn.models.messages import FinishReason
from agentfn.testing import ScriptedModel
from agentfn.testing.scripted_model import ScriptedAnswer

NO_USAGE = Usage()
LONE_SURROGATE = "\ud83d"  # of a character
MAX_MODEL_CALLS = 150  # that a loop of a test may ask; whoever asks more would ask for ever

# Letters that are no letters, letters that turn others round, and halves of letters.
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
    """Says the same in either protocol. The arguments are raw text, spliced in as they are."""

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
    """A model that never runs out of lines; with `closing`, it says that when its tools are off."""

    def answer(prompt: ModelRequest) -> ScriptedAnswer:
        assert len(model.requests) < MAX_MODEL_CALLS, "this loop has no end"
        return closing if closing is not None and is_closing(prompt) else next(lines)

    model = ScriptedModel.from_function(answer)
    return model


def is_closing(prompt: ModelRequest) -> bool:
    """Whether that is a closing prompt. In plain text, tools are off where it says so."""
    return prompt.tool_choice == "none" or "tools are off" in prompt.turns[-1].text.lower()
