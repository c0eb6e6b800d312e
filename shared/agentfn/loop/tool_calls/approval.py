"""Approval of tool calls: the question to the user, and the user's answer."""

import json
import re
from dataclasses import dataclass
from typing import Any

from agentfn.models import ToolCall
from agentfn.tools.tool_arguments import ToolCallError

# An answer of these words only, with at least one YES_WORD, approves the call. Any other answer does not.
YES_WORD = re.compile(
    "yes|y|yep|yeah|ok|okay|sure|fine|approved?|accept(ed)?|confirm(ed)?|true|go|proceed|do|run|"
    "ja|oui|si|sí|sim|da|hai|はい|是|好"
)
FILLER_WORD = re.compile("please|thanks?|you|it|that|this|ahead|with|bitte|danke|merci|gracias")

QUESTION_TEMPLATE = """May I run `{name}` with these arguments?

```json
{arguments}
```

Answer yes, or no (and why), or send the arguments as they should be, as a JSON object."""
APPROVED_NOTE = "(The user approved this call.)"
CHANGED_NOTE = "(The user approved this call with other arguments: {arguments})"


@dataclass(frozen=True)
class ApprovalDecision:
    """`arguments` is a JSON text if the user changed them. `reason` is why the user declined; it may be empty."""

    approved: bool
    arguments: str | None = None
    reason: str = ""

    def declined_error(self) -> ToolCallError:
        """The result that the model reads."""
        reason = f" They said: {self.reason}" if self.reason else ""
        return ToolCallError(f"the user declined this call; it was not run.{reason}", "declined")

    def note(self) -> str:
        """A note for the model about an approved call."""
        return APPROVED_NOTE if self.arguments is None else CHANGED_NOTE.format(arguments=self.arguments)


def approval_question(call: ToolCall) -> str:
    """The question to the user, with the arguments as indented JSON."""
    try:
        arguments = json.dumps(json.loads(call.arguments or "{}"), indent=2, ensure_ascii=False)
    except (ValueError, RecursionError):
        arguments = call.arguments
    if len(arguments) > 2 * len(call.arguments) + 1_000:  # more indentation than content
        arguments = call.arguments
    return QUESTION_TEMPLATE.format(name=call.name, arguments=arguments)


def parse_decision(text: str) -> ApprovalDecision:
    """The decision in the user's reply.

    A yes, arguments as a JSON object, or `{"approved": true or false, "arguments": {…}, "reason": "…"}`. Everything
    else declines.
    """
    try:
        value: Any = json.loads(text)
    except (ValueError, RecursionError):
        value = text
    if isinstance(value, bool):
        return ApprovalDecision(value)
    if not isinstance(value, dict):
        return ApprovalDecision(True) if _is_yes(text) else _decline(text)
    if not value.keys() <= {"approved", "arguments", "reason"}:
        return ApprovalDecision(True, text)
    if value.get("approved") is False or ("approved" not in value and "arguments" not in value):
        return _decline(str(value.get("reason", "")))
    changed = value.get("arguments")
    return ApprovalDecision(True, json.dumps(changed, ensure_ascii=False) if changed is not None else None)


def _is_yes(text: str) -> bool:
    words = re.findall(r"\w+", text.casefold())
    if "?" in text or not any(YES_WORD.fullmatch(word) for word in words):
        return False
    return all(YES_WORD.fullmatch(word) or FILLER_WORD.fullmatch(word) for word in words)


def _decline(reason: str) -> ApprovalDecision:
    return ApprovalDecision(False, reason=reason.strip())
