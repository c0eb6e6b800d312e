"""The user's word on a call that needs it before it is run."""

import json
import re
from dataclasses import dataclass
from typing import Any

from agentfn.models import Call
from agentfn.tools.tool_arguments import Mistake

# An answer of these words alone, one of the first among them, is a yes; anything else, however friendly, is not.
YES = re.compile(
    "yes|y|yep|yeah|ok|okay|sure|fine|approved?|accept(ed)?|confirm(ed)?|true|go|proceed|do|run|"
    "ja|oui|si|sí|sim|da|hai|はい|是|好"
)
POLITE = re.compile("please|thanks?|you|it|that|this|ahead|with|bitte|danke|merci|gracias")

QUESTION = """May I run `{name}` with these arguments?

```json
{arguments}
```

Answer yes, or no (and why), or send the arguments as they should be, as a JSON object."""
APPROVED = "(The user approved this call.)"
CHANGED = "(The user approved this call with other arguments: {arguments})"


@dataclass(frozen=True)
class Verdict:
    """`arguments` is set where the user changed them; `words` is why he declined, as far as he said."""

    approved: bool
    arguments: str | None = None
    words: str = ""

    def declined(self) -> Mistake:
        said = f" They said: {self.words}" if self.words else ""
        return Mistake(f"the user declined this call; it was not run.{said}", "declined")

    def note(self) -> str:
        return APPROVED if self.arguments is None else CHANGED.format(arguments=self.arguments)


def question(call: Call) -> str:
    try:
        arguments = json.dumps(json.loads(call.arguments or "{}"), indent=2, ensure_ascii=False)
    except (ValueError, RecursionError):
        arguments = call.arguments
    if len(arguments) > 2 * len(call.arguments) + 1_000:  # indented more than it says
        arguments = call.arguments
    return QUESTION.format(name=call.name, arguments=arguments)


def read_verdict(text: str) -> Verdict:
    """Yes, arguments as a JSON object, or `{"approved": true or false, "arguments": {…}, "reason": "…"}`."""
    try:
        value: Any = json.loads(text)
    except (ValueError, RecursionError):
        value = text
    if isinstance(value, bool):
        return Verdict(value)
    if not isinstance(value, dict):
        return Verdict(True) if _yes(text) else _no(text)
    if not value.keys() <= {"approved", "arguments", "reason"}:
        return Verdict(True, text)
    if value.get("approved") is False or ("approved" not in value and "arguments" not in value):
        return _no(str(value.get("reason", "")))
    changed = value.get("arguments")
    return Verdict(True, json.dumps(changed, ensure_ascii=False) if changed is not None else None)


def _yes(text: str) -> bool:
    words = re.findall(r"\w+", text.casefold())
    meant = [word for word in words if YES.fullmatch(word)]
    return bool(meant) and "?" not in text and all(YES.fullmatch(word) or POLITE.fullmatch(word) for word in words)


def _no(words: str) -> Verdict:
    return Verdict(False, words=words.strip())
