"""Language models: the interface that an agent calls, and the messages that go through it."""

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
