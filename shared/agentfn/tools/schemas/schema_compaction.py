"""A JSON Schema without what only explains: fewer tokens in each prompt, the same arguments allowed."""

from typing import Any

WORDS = frozenset({"title", "description", "examples", "default", "$comment"})
ONE = frozenset(
    {
        "additionalProperties",
        "contains",
        "contentSchema",
        "else",
        "if",
        "items",
        "not",
        "propertyNames",
        "then",
        "unevaluatedItems",
        "unevaluatedProperties",
    }
)
SEVERAL = frozenset({"allOf", "anyOf", "oneOf", "prefixItems"})
NAMED = frozenset({"$defs", "definitions", "dependentSchemas", "patternProperties", "properties"})


def compacted(schema: Any) -> Any:
    """Only schemas are looked into: a property may be called "title", and a const may be any value at all."""
    if not isinstance(schema, dict):
        return schema  # true and false are schemas too
    return {word: _within(word, value) for word, value in schema.items() if word not in WORDS}


def _within(word: str, value: Any) -> Any:
    if word in ONE:
        return compacted(value)
    if word in SEVERAL:
        return [compacted(part) for part in value]
    if word in NAMED:
        return {name: compacted(part) for name, part in value.items()}
    return value
