"""The only doors to language models, and the words they are spoken to in."""

from agentfn.models.messages import ModelResponse, ToolCall, Turn, Usage
from agentfn.models.model import Model, ModelRequest, Sampling, SupportsStreaming, SupportsToolQuery
from agentfn.models.rule_based_model import CompletedCall, Conversation, RuleBasedModel, ToolStep

__all__ = [
    "CompletedCall",
    "Conversation",
    "Model",
    "ModelRequest",
    "ModelResponse",
    "RuleBasedModel",
    "Sampling",
    "SupportsStreaming",
    "SupportsToolQuery",
    "ToolCall",
    "ToolStep",
    "Turn",
    "Usage",
]
