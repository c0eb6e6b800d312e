"""Checks of a JSON Schema that is passed to `tool`."""

import inspect
from collections.abc import Callable, Iterator
from typing import Any

from agentfn.errors import ConfigurationError

UNNAMED_KINDS = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD, inspect.Parameter.POSITIONAL_ONLY)
COMPOSITION_KEYWORDS = ("allOf", "anyOf", "oneOf", "$ref", "patternProperties")  # these can add properties


def check_schema(name: str, schema: dict[str, Any], function: Callable[..., Any], context: str | None) -> None:
    """Raises ConfigurationError if the schema is invalid (draft 2020-12), or if the function does not fit it."""
    from jsonschema import Draft202012Validator
    from jsonschema.exceptions import SchemaError
    from referencing import Registry
    from referencing.exceptions import Unresolvable
    from referencing.jsonschema import DRAFT202012

    try:
        Draft202012Validator.check_schema(schema, format_checker=Draft202012Validator.FORMAT_CHECKER)
    except SchemaError as error:
        raise ConfigurationError(f"tool {name}: its schema is invalid: {error.message} at {error.json_path}") from None
    resolver = Registry[Any]().resolver_with_root(DRAFT202012.create_resource(schema))
    for reference in _iter_references(schema):
        try:
            resolver.lookup(reference)
        except Unresolvable:
            raise ConfigurationError(f"tool {name}: its schema refers to {reference}, which is not in it") from None
    odd = _find_mismatches(schema, function, context)
    if odd:
        raise ConfigurationError(f"tool {name}: its schema and its function do not agree on {', '.join(odd)}")


def _find_mismatches(schema: dict[str, Any], function: Callable[..., Any], context: str | None) -> list[str]:
    """Properties that the function does not accept, and required parameters that the schema lacks."""
    properties = schema.get("properties", {})
    parameters = inspect.signature(function).parameters.values()
    named = {parameter.name: parameter for parameter in parameters if parameter.kind not in UNNAMED_KINDS}
    open_ended = any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters)
    extra = [] if open_ended else [name for name in properties if name not in named]
    if any(word in schema for word in COMPOSITION_KEYWORDS):
        return extra
    needed = [name for name, parameter in named.items() if parameter.default is parameter.empty and name != context]
    return [*extra, *(name for name in needed if name not in properties)]


def _iter_references(schema: Any) -> Iterator[str]:
    parts = schema.values() if isinstance(schema, dict) else schema if isinstance(schema, list) else ()
    if isinstance(schema, dict) and isinstance(schema.get("$ref"), str):
        yield schema["$ref"]
    for part in parts:
        yield from _iter_references(part)
