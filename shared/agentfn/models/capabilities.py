"""What litellm's data says of a model, looked up in the table itself: its functions may ask a server on the network."""

from typing import Any

# Providers whose wire has a place for signed thinking blocks in a transcript; litellm sends them to others as they are.
THINKERS = frozenset({"anthropic", "azure_ai", "bedrock", "bedrock_converse", "databricks", "vertex_ai"})


def calls_tools(litellm: Any, name: str) -> bool:
    """False only for a model that is known to lack it."""
    return _entry(litellm, name).get("supports_function_calling") is not False


def follows_schema(litellm: Any, name: str) -> bool:
    """True only for a model that is known to do so."""
    return _entry(litellm, name).get("supports_response_schema") is True


def remembers_thinking(litellm: Any, name: str) -> bool:
    """On Azure AI only Claude has a wire of its own."""
    provider = name.split("/")[0] if "/" in name else _entry(litellm, name).get("litellm_provider")
    return provider in THINKERS and (provider != "azure_ai" or "claude" in name)


def response_format(schema: dict[str, Any]) -> dict[str, Any]:
    """OpenAI's option for it. Not strict: that way OpenAI would refuse each schema that leaves anything open."""
    return {"type": "json_schema", "json_schema": {"name": "answer", "schema": schema, "strict": False}}


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
