"""What a model on Bedrock supports: schemas, and reasoning in the fields that each family of models has for it."""

from typing import Any

from agentfn.models.prices import ModelInfo

type RequestFields = dict[str, Any]

THINKING_BUDGET_TOKENS = {"minimal": 1024, "low": 1024, "medium": 2048, "high": 4096, "xhigh": 8192, "max": 16_384}
MIN_THINKING_TOKENS = 1024  # Claude's minimum
DEFAULT_ANSWER_TOKENS = 4096  # what Claude may write beside its thinking where there is no max_tokens


def supports_closed_schema(info: ModelInfo, schema: Any) -> bool:
    """Bedrock rejects a schema that leaves an object open."""
    return info.get("supports_native_structured_output") is True and _is_closed_schema(schema)


def reasoning_fields(
    effort: str | None, model: str, info: ModelInfo, settings: RequestFields
) -> tuple[RequestFields, RequestFields]:
    """The additional request fields for a reasoning effort, and the inference settings that fit them.

    No fields and the same settings for a model that cannot reason, or whose id does not name its family, as in an ARN.
    """
    if not effort or effort == "none":
        return {}, settings
    if "claude" in model:
        return _claude_thinking(effort, info, settings)
    if "nova-2" in model:
        return {"reasoningConfig": {"type": "enabled", "maxReasoningEffort": _effort_level(effort, info)}}, settings
    return ({"reasoning_effort": effort} if "gpt-oss" in model or "deepseek" in model else {}), settings


def _claude_thinking(effort: str, info: ModelInfo, settings: RequestFields) -> tuple[RequestFields, RequestFields]:
    """Claude's thinking counts as tokens of the answer, and excludes a temperature."""
    without_temperature = {name: value for name, value in settings.items() if name != "temperature"}
    if info.get("supports_adaptive_thinking") is True:
        config = {"effort": _effort_level(effort, info)}
        return {"thinking": {"type": "adaptive"}, "output_config": config}, without_temperature
    max_tokens, budget = settings.get("maxTokens"), THINKING_BUDGET_TOKENS.get(effort, 0)
    cannot_think = info and info.get("supports_reasoning") is not True
    if cannot_think or budget < MIN_THINKING_TOKENS or (max_tokens and max_tokens <= MIN_THINKING_TOKENS):
        return {}, settings
    budget = min(budget, max_tokens - 1) if max_tokens else budget
    limit = {"maxTokens": max_tokens or budget + DEFAULT_ANSWER_TOKENS}
    return {"thinking": {"type": "enabled", "budget_tokens": budget}}, without_temperature | limit


def _effort_level(effort: str, info: ModelInfo) -> str:
    """The effort where the list says that the model has it, else the nearest that all such models have."""
    if info.get(f"supports_{effort}_reasoning_effort") is True:
        return effort
    return {"minimal": "low", "xhigh": "high", "max": "high"}.get(effort, effort)


def _is_closed_schema(schema: Any) -> bool:
    if isinstance(schema, list):
        return all(map(_is_closed_schema, schema))
    if not isinstance(schema, dict):
        return True
    closed = schema.get("type") != "object" or schema.get("additionalProperties") is False
    return closed and all(map(_is_closed_schema, schema.values()))
