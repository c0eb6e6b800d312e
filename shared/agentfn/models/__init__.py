"""The only doors to language models, and the words they are spoken to in."""

from agentfn.models.messages import ModelResponse, ToolCall, Turn, Usage
from agentfn.models.model import Model, ModelRequest, Sampling, SupportsStreaming, SupportsToolQuery

__all__ = [
    "Model",
    "ModelRequest",
    "ModelResponse",
    "Sampling",
    "SupportsStreaming",
    "SupportsToolQuery",
    "ToolCall",
    "Turn",
    "Usage",
]
