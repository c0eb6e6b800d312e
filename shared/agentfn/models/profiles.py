"""What a model can do, by what is known of it: litellm's functions for that may ask a server on the network."""

from typing import Any

from agentfn.models.prices import Known

type Fields = dict[str, Any]

# Providers whose wire has a place for signed thinking blocks in a transcript; litellm sends them to others as they are.
THINKERS = frozenset({"anthropic", "azure_ai", "bedrock", "bedrock_converse", "databricks", "vertex_ai"})

BUDGETS = {"minimal": 1024, "low": 1024, "medium": 2048, "high": 4096, "xhigh": 8192, "max": 16_384}  # tokens
LEAST, SPOKEN = 1024, 4096  # the least that Claude may think, and what it gets to speak beside its thoughts


def calls_tools(known: Known) -> bool:
    """False only for a model that is known to lack it."""
    return known.get("supports_function_calling") is not False


def follows_schema(known: Known) -> bool:
    """True only for a model that is known to do so."""
    return known.get("supports_response_schema") is True


def follows_closed_schema(known: Known, schema: Any) -> bool:
    """The same on Bedrock, which takes no schema that leaves an object open."""
    return known.get("supports_native_structured_output") is True and _closed(schema)


def remembers_thinking(known: Known, name: str) -> bool:
    """On Azure AI only Claude has a wire of its own."""
    provider = name.split("/")[0] if "/" in name else known.get("litellm_provider")
    return provider in THINKERS and (provider != "azure_ai" or "claude" in name)


def reasoning(effort: str | None, model: str, known: Known, settings: Fields) -> tuple[Fields, Fields]:
    """An effort as the fields that a model on Bedrock has for it, and what becomes of its inference settings.

    Both are as they were for a model that has none, or does not tell what it is, as an ARN may.
    """
    if not effort or effort == "none":
        return {}, settings
    if "claude" in model:
        return _thinking(effort, known, settings)
    if "nova-2" in model:
        return {"reasoningConfig": {"type": "enabled", "maxReasoningEffort": _level(effort, known)}}, settings
    return ({"reasoning_effort": effort} if "gpt-oss" in model or "deepseek" in model else {}), settings


def _thinking(effort: str, known: Known, settings: Fields) -> tuple[Fields, Fields]:
    """Claude's thoughts count as tokens of the answer, and leave no temperature to choose."""
    cool = {name: value for name, value in settings.items() if name != "temperature"}
    if known.get("supports_adaptive_thinking") is True:
        return {"thinking": {"type": "adaptive"}, "output_config": {"effort": _level(effort, known)}}, cool
    most, budget = settings.get("maxTokens"), BUDGETS.get(effort, 0)
    unable = known and known.get("supports_reasoning") is not True
    if unable or budget < LEAST or (most and most <= LEAST):
        return {}, settings
    budget = min(budget, most - 1) if most else budget
    return {"thinking": {"type": "enabled", "budget_tokens": budget}}, cool | {"maxTokens": most or budget + SPOKEN}


def _level(effort: str, known: Known) -> str:
    """The nearest that every model with levels has, but for those that are known to have more."""
    if known.get(f"supports_{effort}_reasoning_effort") is True:
        return effort
    return {"minimal": "low", "xhigh": "high", "max": "high"}.get(effort, effort)


def _closed(schema: Any) -> bool:
    if isinstance(schema, list):
        return all(map(_closed, schema))
    if not isinstance(schema, dict):
        return True
    shut = schema.get("type") != "object" or schema.get("additionalProperties") is False
    return shut and all(map(_closed, schema.values()))
