"""The Agent2Agent protocol: a2a-sdk's routes and types, on our own request handler."""

from agentfn.a2a.app import web_app
from agentfn.a2a.card.card_builder.card_endpoint import Cards
from agentfn.a2a.card.card_builder.card_signature import Notary
from agentfn.a2a.files.file_endpoints import file_routes
from agentfn.a2a.push.push_configs import Pushing
from agentfn.a2a.push.webhook_delivery import Delivering
from agentfn.a2a.request_handler import AgentRequests

__all__ = ["AgentRequests", "Cards", "Delivering", "Notary", "Pushing", "file_routes", "web_app"]
