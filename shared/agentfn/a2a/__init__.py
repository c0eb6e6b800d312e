"""The Agent2Agent protocol: a2a-sdk's routes and types, on our own request handler."""

from agentfn.a2a.cards import Cards
from agentfn.a2a.delivering import Delivering
from agentfn.a2a.filedoor import file_routes
from agentfn.a2a.pushing import Pushing
from agentfn.a2a.requests import AgentRequests
from agentfn.a2a.signing import Notary
from agentfn.a2a.web import web_app

__all__ = ["AgentRequests", "Cards", "Delivering", "Notary", "Pushing", "file_routes", "web_app"]
