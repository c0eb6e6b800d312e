"""Models that call a stub provider, and requests for them.

The Bedrock model signs with credentials from the environment: set those of `AWS_ENVIRONMENT` first.
"""

from collections.abc import Callable
from typing import Any, Literal

from agentfn.models import ModelRequest, ModelResponse, ToolCall, Turn
from agentfn.models.providers import http_client
from agentfn.models.providers.bedrock_model import BedrockModel
from agentfn.models.providers.litellm_internals import close_litellm
from agentfn.models.providers.litellm_model import LiteLLMModel
from agentfn.models.providers.openai_model import OpenAIModel
from provider_stubs.dialects import Dialect
from provider_stubs.server import StubProvider

MODEL_NAMES: dict[Dialect, str] = {
    "openai": "openai/gpt-4o",
    "anthropic": "anthropic/claude-haiku-4-5",
    "bedrock": "bedrock/converse/us.anthropic.claude-sonnet-4-5-20250929-v1:0",
}
AWS_ENVIRONMENT = {"AWS_ACCESS_KEY_ID": "AKIATEST", "AWS_SECRET_ACCESS_KEY": "secret", "AWS_REGION": "us-east-1"}
API_KEY = "sk-test-0123456789abcdef"
LOOK_TOOL: dict[str, Any] = {
    "type": "function",
    "function": {
        "name": "look",
        "description": "Looks at a thing.",
        "parameters": {"type": "object", "properties": {"at": {"type": "string"}}},
    },
}

type Ask = Callable[[ModelRequest], ModelResponse]
type ClientKind = Literal["litellm", "direct"]
type AnyModel = LiteLLMModel | OpenAIModel | BedrockModel
type AskStreaming = Callable[[AnyModel, ModelRequest], tuple[list[str], ModelResponse]]

MODEL_CLASSES: dict[tuple[ClientKind, Dialect], type[AnyModel]] = {
    ("litellm", "openai"): LiteLLMModel,
    ("litellm", "anthropic"): LiteLLMModel,
    ("litellm", "bedrock"): LiteLLMModel,
    ("direct", "openai"): OpenAIModel,
    ("direct", "bedrock"): BedrockModel,
}


def make_model(dialect: Dialect, provider: StubProvider, name: str = "", *, client: ClientKind = "litellm") -> AnyModel:
    key = None if dialect == "bedrock" else API_KEY
    return MODEL_CLASSES[client, dialect](
        name or MODEL_NAMES[dialect], api_key=lambda: key, base_url=getattr(provider, dialect)
    )


async def close_connections() -> None:
    """Closes the connections of all models."""
    await close_litellm()
    await http_client.close_clients()


def hello_request(text: str = "Where is Paris?", **options: Any) -> ModelRequest:
    return ModelRequest("Be brief.", (Turn("user", text),), **options)


def request_with_calls(*calls: ToolCall, after: tuple[Turn, ...] = (), **options: Any) -> ModelRequest:
    """A request whose transcript has these calls and their results."""
    results = tuple(Turn("tool", f"saw {call.id}", tool_call_id=call.id, tool_name=call.name) for call in calls)
    turns = (Turn("user", "Look."), Turn("assistant", tool_calls=calls), *results, *after)
    return ModelRequest("Be brief.", turns, **{"tools": (LOOK_TOOL,), **options})
