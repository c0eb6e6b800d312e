"""What litellm's data says of a model, looked up in the table itself: its functions may ask a server on the network."""

from typing import Any

# Providers whose wire has a place for signed thinking blocks in a transcript; litellm sends them to others as they are.
THINKERS = frozenset({"anthropic", "azure_ai", "bedrock", "bedrock_converse", "databricks", "vertex_ai"})
# Keywords that OpenAI refuses in a schema that is to be followed strictly.
# Source: https://platform.openai.com/docs/guides/structured-outputs#supported-schemas
LOOSE = frozenset({"allOf", "oneOf", "not", "if", "then", "else", "dependentRequired", "dependentSchemas"})
LOOSE |= {"patternProperties", "unevaluatedProperties", "propertyNames", "contains", "uniqueItems"}


def calls_tools(litellm: Any, name: str) -> bool:
    """False only for a model that is known to lack it."""
    return _entry(litellm, name).get("supports_function_calling") is not False


def follows_schema(litellm: Any, name: str) -> bool:
    """True only for a model that is known to do so."""
    return _entry(litellm, name).get("supports_response_schema") is True


def remembers_thinking(litellm: Any, name: str) -> bool:
    provider = name.split("/")[0] if "/" in name else _entry(litellm, name).get("litellm_provider")
    return provider in THINKERS


def response_format(schema: dict[str, Any]) -> dict[str, Any]:
    """OpenAI's option for it, strict where OpenAI takes the schema so."""
    shape = {"name": "answer", "schema": schema, "strict": schema.get("type") == "object" and _strict(schema)}
    return {"type": "json_schema", "json_schema": shape}


def _entry(litellm: Any, name: str) -> dict[str, Any]:
    """The model's entry, empty where there is none.

    A name without its first parts counts where the entry is of the same provider: the same model behind another
    provider may do other things.
    """
    parts = name.split("/")
    for start in range(len(parts)):
        found: dict[str, Any] = litellm.model_cost.get("/".join(parts[start:])) or {}
        if found and (start == 0 or str(found.get("litellm_provider")).startswith(parts[0])):
            return found
    return {}


def _strict(schema: Any) -> bool:
    """Every object closed and every property required, down to the last."""
    if isinstance(schema, list):
        return all(map(_strict, schema))
    if not isinstance(schema, dict):
        return True
    properties = schema.get("properties", {})
    if schema.get("type") == "object" and (
        schema.get("additionalProperties") is not False or set(schema.get("required", ())) != set(properties)
    ):
        return False
    nested = [*properties.values(), *schema.get("$defs", {}).values(), schema.get("items"), schema.get("anyOf")]
    return not LOOSE & set(schema) and _strict(nested)
