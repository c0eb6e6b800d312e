"""The text that a model wrote as arguments, as checked values: or the one error that it is told."""

import json
import math
from dataclasses import dataclass
from typing import Any

from agentfn.tools.tool import Tool
from agentfn.tools.tool_output import writable

LONGEST_ERROR = 4_000  # characters; validators quote what they refuse, and exceptions may hold anything


@dataclass(frozen=True)
class Mistake:
    """What a model is told when its call cannot be run."""

    error: str
    kind: str
    path: str = ""

    def render(self) -> str:
        error = self.error if len(self.error) <= LONGEST_ERROR else f"{self.error[:LONGEST_ERROR]}…"
        shape = {"error": writable(error), "error_type": self.kind}
        return json.dumps({**shape, "path": self.path} if self.path else shape, ensure_ascii=False)


def read_arguments(text: str, tool: Tool, limit: int) -> dict[str, Any] | Mistake:
    """`limit` is in characters. Nothing, blanks and null stand for no arguments; of a key that comes twice the last
    one counts.
    """
    if len(text) > limit:
        return Mistake(f"the arguments are {len(text):,} characters; {limit:,} are allowed", "too_long")
    parsed = _parse(text)
    if isinstance(parsed, Mistake):
        return parsed
    return _invalid(parsed, tool) or parsed


def _parse(text: str) -> dict[str, Any] | Mistake:
    try:
        value = _loads(writable(text)) if text.strip() else {}
        if isinstance(value, str):
            value = _loads(value) if value.strip() else {}  # a JSON string of JSON
    except (ValueError, RecursionError) as error:
        return Mistake(f"the arguments are not valid JSON: {error}", "invalid_json")
    if value is None:
        return {}
    if not isinstance(value, dict):
        return Mistake(f"the arguments must be a JSON object, not {type(value).__name__}", "not_an_object")
    return value


def _loads(text: str) -> Any:
    value = json.loads(text, parse_constant=_no_constant, parse_float=_finite)
    if "\\ud" not in text.lower():
        return value
    return json.loads(writable(json.dumps(value, ensure_ascii=False)))


def _no_constant(name: str) -> Any:
    """Python would take NaN and Infinity; neither JSON nor providers do."""
    raise ValueError(f"{name} is not JSON")


def _finite(text: str) -> float:
    """1e999 is JSON, but Python would make it Infinity."""
    value = float(text)
    if math.isinf(value):
        raise ValueError(f"{text} is too large")
    return value


def _invalid(arguments: dict[str, Any], tool: Tool) -> Mistake | None:
    from jsonschema.exceptions import best_match

    try:
        worst = best_match(tool.validator.iter_errors(arguments))
    except RecursionError:
        return Mistake("the arguments are nested too deeply", "invalid_arguments", "$")
    except OverflowError:  # of multipleOf
        return Mistake("a number in the arguments is too large", "invalid_arguments", "$")
    if worst is None:
        return None
    return Mistake(worst.message, "invalid_arguments", worst.json_path)
