"""What a model supports, from its entry in the price list: litellm's functions for that may use the network."""

from agentfn.models.prices import ModelInfo

# Providers that accept signed thinking blocks in a transcript; litellm sends them to others as they are.
THINKING_PROVIDERS = frozenset({"anthropic", "azure_ai", "bedrock", "bedrock_converse", "databricks", "vertex_ai"})


def supports_tool_calls(info: ModelInfo) -> bool:
    """False only where the list says so."""
    return info.get("supports_function_calling") is not False


def supports_schema(info: ModelInfo) -> bool:
    """True only where the list says so."""
    return info.get("supports_response_schema") is True


def accepts_thinking(info: ModelInfo, name: str) -> bool:
    """On Azure AI only Claude has its own API, which does."""
    provider = name.split("/")[0] if "/" in name else info.get("litellm_provider")
    return provider in THINKING_PROVIDERS and (provider != "azure_ai" or "claude" in name)
