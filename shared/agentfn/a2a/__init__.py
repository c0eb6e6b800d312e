"""The Agent2Agent (A2A) protocol: a2a-sdk's routes and types with our own request handler."""

from agentfn.a2a.app import create_app
from agentfn.a2a.card.card_endpoint import CardEndpoint
from agentfn.a2a.files.file_endpoints import file_routes
from agentfn.a2a.push.push_configs import PushConfigService
from agentfn.a2a.push.webhook_delivery import WebhookDelivery
from agentfn.a2a.push.webhook_signer import WebhookSigner
from agentfn.a2a.request_handler import AgentRequestHandler

__all__ = [
    "AgentRequestHandler",
    "CardEndpoint",
    "PushConfigService",
    "WebhookDelivery",
    "WebhookSigner",
    "create_app",
    "file_routes",
]
