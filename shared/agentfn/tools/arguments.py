"""The text that a model wrote as arguments, as checked values: or the one error that it is told."""

import json
from dataclasses import dataclass
from typing import Any

from agentfn.tools.tool import Tool


@dataclass(frozen=True)
class Mistake:
    """What a model is told when its call cannot be run."""

    error: str
    kind: str
    path: str = ""

    def render(self) -> str:
        shape = {"error": self.error, "error_type": self.kind}
        return json.dumps({**shape, "path": self.path} if self.path else shape, ensure_ascii=False)


def read_arguments(text: str, tool: Tool, limit: int) -> dict[str, Any] | Mistake:
    """`limit` is in characters. Nothing, blanks and null stand for no arguments."""
    if len(text) > limit:
        return Mistake(f"the arguments are {len(text):,} characters; {limit:,} are allowed", "too_long")
    parsed = _parse(text)
    if isinstance(parsed, Mistake):
        return parsed
    return _invalid(parsed, tool.schema) or parsed


def _parse(text: str) -> dict[str, Any] | Mistake:
    try:
        value = json.loads(text) if text.strip() else {}
        if isinstance(value, str) and value.strip():
            value = json.loads(value)  # a JSON string of JSON
    except (ValueError, RecursionError) as error:
        return Mistake(f"the arguments are not valid JSON: {error}", "invalid_json")
    if value is None or value == "":
        return {}
    if not isinstance(value, dict):
        return Mistake(f"the arguments must be a JSON object, not {type(value).__name__}", "not_an_object")
    return value


def _invalid(arguments: dict[str, Any], schema: dict[str, Any]) -> Mistake | None:
    from jsonschema import Draft202012Validator
    from jsonschema.exceptions import best_match

    worst = best_match(Draft202012Validator(schema).iter_errors(arguments))
    if worst is None:
        return None
    return Mistake(worst.message, "invalid_arguments", worst.json_path)
