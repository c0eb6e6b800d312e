"""The only doors to language models, and the words they are spoken to in."""

from agentfn.models.door import Model, Prompt, Sampling
from agentfn.models.turn import Call, Reply, Turn, Usage

__all__ = ["Call", "Model", "Prompt", "Reply", "Sampling", "Turn", "Usage"]
