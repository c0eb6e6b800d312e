"""The only doors to language models, and the words they are spoken to in."""

from agentfn.models.messages import Call, Reply, Turn, Usage
from agentfn.models.model import KnowsTools, Model, Prompt, Sampling, Streams

__all__ = ["Call", "KnowsTools", "Model", "Prompt", "Reply", "Sampling", "Streams", "Turn", "Usage"]
