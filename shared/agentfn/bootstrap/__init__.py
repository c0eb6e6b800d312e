"""The composition root: the only place where an agent's parts are created and put together."""

from agentfn.bootstrap.handler_factory import serve

__all__ = ["serve"]
