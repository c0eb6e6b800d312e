"""What has happened in a transcript so far, as far as the rules care."""

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from agentfn.models import ModelRequest, ToolCall, Turn

# How the loop tells the model of a message's files; the rules ask list_files instead.
ATTACHED_FILES = re.compile(r"\s*Attached files:\n(?:.*\n?)*", re.MULTILINE)


@dataclass(frozen=True)
class CompletedCall:
    """A call that has its result."""

    name: str
    arguments: dict[str, Any]
    text: str

    @property
    def error(self) -> str:
        """What went wrong, '' where nothing did: errors are told to models as JSON."""
        if not self.text.startswith('{"error"'):
            return ""
        try:
            return str(json.loads(self.text)["error"])
        except (ValueError, KeyError):
            return self.text


@dataclass(frozen=True)
class Conversation:
    """`question` is all that the user wrote; `answered` and `made` are the calls since the user's last word."""

    question: str
    completed_calls: tuple[CompletedCall, ...]
    call_count: int
    tool_names: frozenset[str]

    @classmethod
    def from_request(cls, request: ModelRequest) -> "Conversation":
        turns = list(request.turns)
        off = request.tool_choice == "none"
        if off:  # the loop's own closing words come last, as if the user had said them
            while len(turns) > 1 and turns[-1].role == "user":
                turns.pop()
        said = [place for place, turn in enumerate(turns) if turn.role == "user"]
        words = [ATTACHED_FILES.sub("", turns[place].text).strip() for place in said]
        return cls(
            question="\n".join(filter(None, words)),
            completed_calls=tuple(_completed_calls(turns[said[-1] + 1 :] if said else turns)),
            call_count=sum(len(turn.tool_calls) for turn in turns),
            tool_names=frozenset() if off else frozenset(tool["function"]["name"] for tool in request.tools),
        )

    def calls_of(self, name: str) -> list[CompletedCall]:
        return [answer for answer in self.completed_calls if answer.name == name]

    def call_with(self, name: str, arguments: Mapping[str, Any]) -> CompletedCall | None:
        """The answer to the call that has these arguments among its own."""
        fitting = (answer for answer in self.calls_of(name) if arguments.items() <= answer.arguments.items())
        return next(fitting, None)


def _completed_calls(turns: Iterable[Turn]) -> Iterable[CompletedCall]:
    calls: dict[str, ToolCall] = {}
    for turn in turns:
        calls |= {call.id: call for call in turn.tool_calls}
        if turn.role == "tool" and turn.tool_call_id in calls:
            call = calls[turn.tool_call_id]
            yield CompletedCall(call.name, _parse_arguments(call), turn.text)


def _parse_arguments(call: ToolCall) -> dict[str, Any]:
    """Nothing where they are no JSON object: a task may have begun with another model."""
    try:
        arguments = json.loads(call.arguments)
    except ValueError:
        return {}
    return arguments if isinstance(arguments, dict) else {}
