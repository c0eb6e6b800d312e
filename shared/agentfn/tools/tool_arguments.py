"""Parsing and validation of tool arguments, as a model writes them."""

import json
import math
from dataclasses import dataclass
from typing import Any

from agentfn.tools.tool import Tool
from agentfn.tools.tool_output import replace_surrogates

MAX_ERROR_CHARS = 4_000  # characters; validators quote what they refuse, and exceptions may hold anything


@dataclass(frozen=True)
class ToolCallError:
    """The error that the model reads instead of a result. `path` is the JSON path of an invalid argument."""

    message: str
    error_type: str
    path: str = ""

    def render(self) -> str:
        error = self.message if len(self.message) <= MAX_ERROR_CHARS else f"{self.message[:MAX_ERROR_CHARS]}…"
        shape = {"error": replace_surrogates(error), "error_type": self.error_type}
        return json.dumps({**shape, "path": self.path} if self.path else shape, ensure_ascii=False)


def parse_arguments(text: str, tool: Tool, max_chars: int) -> dict[str, Any] | ToolCallError:
    """The arguments as a dictionary that fits the tool's schema, or the error.

    An empty text and null mean no arguments. The last of duplicate keys counts.
    """
    if len(text) > max_chars:
        return ToolCallError(f"the arguments are {len(text):,} characters; {max_chars:,} are allowed", "too_long")
    parsed = _parse_object(text)
    if isinstance(parsed, ToolCallError):
        return parsed
    return _validate(parsed, tool) or parsed


def _parse_object(text: str) -> dict[str, Any] | ToolCallError:
    try:
        value = _load_json(replace_surrogates(text)) if text.strip() else {}
        if isinstance(value, str):
            value = _load_json(value) if value.strip() else {}  # a JSON string of JSON
    except (ValueError, RecursionError) as error:
        return ToolCallError(f"the arguments are not valid JSON: {error}", "invalid_json")
    if value is None:
        return {}
    if not isinstance(value, dict):
        return ToolCallError(f"the arguments must be a JSON object, not {type(value).__name__}", "not_an_object")
    return value


def _load_json(text: str) -> Any:
    value = json.loads(text, parse_constant=_reject_constant, parse_float=_parse_finite)
    if "\\ud" not in text.lower():
        return value
    return json.loads(replace_surrogates(json.dumps(value, ensure_ascii=False)))


def _reject_constant(name: str) -> Any:
    """Python accepts NaN and Infinity; JSON and providers do not."""
    raise ValueError(f"{name} is not JSON")


def _parse_finite(text: str) -> float:
    """1e999 is valid JSON, but Python reads it as Infinity."""
    value = float(text)
    if math.isinf(value):
        raise ValueError(f"{text} is too large")
    return value


def _validate(arguments: dict[str, Any], tool: Tool) -> ToolCallError | None:
    from jsonschema.exceptions import best_match

    try:
        worst = best_match(tool.validator.iter_errors(arguments))
    except RecursionError:
        return ToolCallError("the arguments are nested too deeply", "invalid_arguments", "$")
    except OverflowError:  # of multipleOf
        return ToolCallError("a number in the arguments is too large", "invalid_arguments", "$")
    if worst is None:
        return None
    return ToolCallError(worst.message, "invalid_arguments", worst.json_path)
