"""A model that follows rules instead of asking a language model: for demos without a key or a network."""

import asyncio
import json
import logging
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from agentfn.models.messages import ModelResponse, ToolCall, Turn
from agentfn.models.model import Model, ModelRequest

logger = logging.getLogger("agentfn.demo")

# The list of attached files that the loop appends to a user's message.
ATTACHED_FILES = re.compile(r"\s*Attached files:\n(?:.*\n?)*", re.MULTILINE)

type ToolStep = tuple[str, dict[str, Any]]
"""A tool and the arguments to call it with."""
type Rules = Callable[[ModelRequest], ModelResponse]


class RuleBasedModel(Model):
    """A model that answers with `rules(request)`. It logs `warning` once and waits `pause` seconds each time.

    The rules see nothing but the transcript, so a task can continue in another process at any point.
    """

    def __init__(self, rules: Rules, *, name: str = "demo", warning: str = "", pause: float = 0.0) -> None:
        self.name = name
        self._rules = rules
        self._warning = warning
        self._pause = pause

    async def generate(self, request: ModelRequest) -> ModelResponse:
        if self._warning:
            logger.warning("%s", self._warning)
            self._warning = ""
        await asyncio.sleep(self._pause)
        return self._rules(request)


@dataclass(frozen=True)
class CompletedCall:
    """A tool call that has a result. `text` is the result as the model reads it."""

    name: str
    arguments: dict[str, Any]
    text: str

    @property
    def error(self) -> str:
        """The error that the tool answered with, '' if it succeeded. Errors reach models as JSON."""
        if not self.text.startswith('{"error"'):
            return ""
        try:
            return str(json.loads(self.text)["error"])
        except (ValueError, KeyError):
            return self.text


@dataclass(frozen=True)
class Conversation:
    """A transcript as rules read it.

    `user_texts` are the user's messages without their lists of files. `completed_calls` are the calls since the last
    message, `call_count` counts all calls. `tool_names` is empty when the loop has turned the tools off.
    """

    user_texts: tuple[str, ...]
    completed_calls: tuple[CompletedCall, ...]
    call_count: int
    tool_names: frozenset[str]

    @classmethod
    def from_request(cls, request: ModelRequest) -> "Conversation":
        turns = list(request.turns)
        tools_off = request.tool_choice == "none"
        if tools_off:  # the loop's closing instructions come last, as user turns
            while len(turns) > 1 and turns[-1].role == "user":
                turns.pop()
        user_turns = [index for index, turn in enumerate(turns) if turn.role == "user"]
        return cls(
            user_texts=tuple(ATTACHED_FILES.sub("", turns[index].text).strip() for index in user_turns),
            completed_calls=tuple(_completed_calls(turns[user_turns[-1] + 1 :] if user_turns else turns)),
            call_count=sum(len(turn.tool_calls) for turn in turns),
            tool_names=frozenset(() if tools_off else (tool["function"]["name"] for tool in request.tools)),
        )

    @property
    def errors(self) -> list[str]:
        return [call.error for call in self.completed_calls if call.error]

    def calls_of(self, name: str) -> list[CompletedCall]:
        return [call for call in self.completed_calls if call.name == name]

    def call_with(self, name: str, arguments: Mapping[str, Any]) -> CompletedCall | None:
        """The first completed call of the tool whose arguments include these."""
        matching = (call for call in self.calls_of(name) if arguments.items() <= call.arguments.items())
        return next(matching, None)

    def pending_steps(self, steps: Sequence[ToolStep]) -> list[ToolStep]:
        """The steps that can be taken and have no result yet."""
        return [
            (name, arguments)
            for name, arguments in steps
            if name in self.tool_names and not self.call_with(name, arguments)
        ]

    def call_tools(self, steps: Sequence[ToolStep], progress: str = "") -> ModelResponse:
        """A response that takes the steps, and reports `progress` if the loop offers that tool."""
        reports_progress = progress and "report_progress" in self.tool_names
        reports: list[ToolStep] = [("report_progress", {"text": progress})] if reports_progress else []
        numbered = enumerate([*reports, *steps], self.call_count + 1)
        calls = (ToolCall(f"demo_{number}", name, json.dumps(arguments)) for number, (name, arguments) in numbered)
        return ModelResponse(tool_calls=tuple(calls), finish_reason="tool_calls")

    def ask_user(self, question: str, notice: str) -> ModelResponse:
        """A response that asks the user with the loop's tool, or with a text that ends in `notice` without it."""
        if "ask_user" in self.tool_names:
            return self.call_tools([("ask_user", {"question": question})])
        return ModelResponse(f"{question} {notice}")


def _completed_calls(turns: Iterable[Turn]) -> Iterable[CompletedCall]:
    calls: dict[str, ToolCall] = {}
    for turn in turns:
        calls |= {call.id: call for call in turn.tool_calls}
        if turn.role == "tool" and turn.tool_call_id in calls:
            call = calls[turn.tool_call_id]
            yield CompletedCall(call.name, _parse_arguments(call), turn.text)


def _parse_arguments(call: ToolCall) -> dict[str, Any]:
    """The arguments, {} if they are no JSON object: another model may have begun the task."""
    try:
        arguments = json.loads(call.arguments)
    except ValueError:
        return {}
    return arguments if isinstance(arguments, dict) else {}
