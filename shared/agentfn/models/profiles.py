"""What a model can do, by what is known of it: litellm's functions for that may ask a server on the network."""

from typing import Any

from agentfn.models.prices import ModelInfo

type RequestFields = dict[str, Any]

# Providers whose wire has a place for signed thinking blocks in a transcript; litellm sends them to others as they are.
THINKING_PROVIDERS = frozenset({"anthropic", "azure_ai", "bedrock", "bedrock_converse", "databricks", "vertex_ai"})

THINKING_BUDGET_TOKENS = {
    "minimal": 1024,
    "low": 1024,
    "medium": 2048,
    "high": 4096,
    "xhigh": 8192,
    "max": 16_384,
}  # tokens
MIN_THINKING_TOKENS, DEFAULT_ANSWER_TOKENS = (
    1024,
    4096,
)  # the least that Claude may think, and what it gets to speak beside its thoughts


def supports_tool_calls(known: ModelInfo) -> bool:
    """False only for a model that is known to lack it."""
    return known.get("supports_function_calling") is not False


def supports_schema(known: ModelInfo) -> bool:
    """True only for a model that is known to do so."""
    return known.get("supports_response_schema") is True


def supports_closed_schema(known: ModelInfo, schema: Any) -> bool:
    """The same on Bedrock, which takes no schema that leaves an object open."""
    return known.get("supports_native_structured_output") is True and _is_closed_schema(schema)


def accepts_thinking(known: ModelInfo, name: str) -> bool:
    """On Azure AI only Claude has a wire of its own."""
    provider = name.split("/")[0] if "/" in name else known.get("litellm_provider")
    return provider in THINKING_PROVIDERS and (provider != "azure_ai" or "claude" in name)


def reasoning_fields(
    effort: str | None, model: str, known: ModelInfo, settings: RequestFields
) -> tuple[RequestFields, RequestFields]:
    """An effort as the fields that a model on Bedrock has for it, and what becomes of its inference settings.

    Both are as they were for a model that has none, or does not tell what it is, as an ARN may.
    """
    if not effort or effort == "none":
        return {}, settings
    if "claude" in model:
        return _claude_thinking(effort, known, settings)
    if "nova-2" in model:
        return {"reasoningConfig": {"type": "enabled", "maxReasoningEffort": _effort_level(effort, known)}}, settings
    return ({"reasoning_effort": effort} if "gpt-oss" in model or "deepseek" in model else {}), settings


def _claude_thinking(effort: str, known: ModelInfo, settings: RequestFields) -> tuple[RequestFields, RequestFields]:
    """Claude's thoughts count as tokens of the answer, and leave no temperature to choose."""
    cool = {name: value for name, value in settings.items() if name != "temperature"}
    if known.get("supports_adaptive_thinking") is True:
        return {"thinking": {"type": "adaptive"}, "output_config": {"effort": _effort_level(effort, known)}}, cool
    most, budget = settings.get("maxTokens"), THINKING_BUDGET_TOKENS.get(effort, 0)
    unable = known and known.get("supports_reasoning") is not True
    if unable or budget < MIN_THINKING_TOKENS or (most and most <= MIN_THINKING_TOKENS):
        return {}, settings
    budget = min(budget, most - 1) if most else budget
    return {"thinking": {"type": "enabled", "budget_tokens": budget}}, cool | {
        "maxTokens": most or budget + DEFAULT_ANSWER_TOKENS
    }


def _effort_level(effort: str, known: ModelInfo) -> str:
    """The nearest that every model with levels has, but for those that are known to have more."""
    if known.get(f"supports_{effort}_reasoning_effort") is True:
        return effort
    return {"minimal": "low", "xhigh": "high", "max": "high"}.get(effort, effort)


def _is_closed_schema(schema: Any) -> bool:
    if isinstance(schema, list):
        return all(map(_is_closed_schema, schema))
    if not isinstance(schema, dict):
        return True
    shut = schema.get("type") != "object" or schema.get("additionalProperties") is False
    return shut and all(map(_is_closed_schema, schema.values()))
