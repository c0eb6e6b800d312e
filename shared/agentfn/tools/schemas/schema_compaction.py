"""Compaction of a JSON Schema: without descriptions, to save tokens. It allows the same arguments."""

from typing import Any

ANNOTATION_KEYWORDS = frozenset({"title", "description", "examples", "default", "$comment"})
SUBSCHEMA_KEYWORDS = frozenset(
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
SUBSCHEMA_LIST_KEYWORDS = frozenset({"allOf", "anyOf", "oneOf", "prefixItems"})
SUBSCHEMA_MAP_KEYWORDS = frozenset({"$defs", "definitions", "dependentSchemas", "patternProperties", "properties"})


def compact_schema(schema: Any) -> Any:
    """Removes annotation keywords from schemas only: a property may be called "title", and a const may be any value."""
    if not isinstance(schema, dict):
        return schema  # true and false are schemas too
    return {word: _compact_value(word, value) for word, value in schema.items() if word not in ANNOTATION_KEYWORDS}


def _compact_value(word: str, value: Any) -> Any:
    if word in SUBSCHEMA_KEYWORDS:
        return compact_schema(value)
    if word in SUBSCHEMA_LIST_KEYWORDS:
        return [compact_schema(part) for part in value]
    if word in SUBSCHEMA_MAP_KEYWORDS:
        return {name: compact_schema(part) for name, part in value.items()}
    return value
