"""The only doors to language models, and the words they are spoken to in."""

from agentfn.models.model import KnowsTools, Model, Prompt, Sampling, Streams
from agentfn.models.openai_format import Call, Reply, Turn, Usage

__all__ = ["Call", "KnowsTools", "Model", "Prompt", "Reply", "Sampling", "Streams", "Turn", "Usage"]
