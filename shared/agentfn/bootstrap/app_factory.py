"""The agent's HTTP app: the A2A protocol, files and, if it is enabled, MCP."""

import functools
from typing import NamedTuple

from starlette.types import ASGIApp

from agentfn.a2a import AgentRequestHandler, CardEndpoint, PushConfigService, create_app, file_routes
from agentfn.a2a.card.signing_keys import SigningKeys
from agentfn.a2a.message_acceptor import MessageAcceptor
from agentfn.a2a.task_streams import TaskStreams
from agentfn.agent import Agent
from agentfn.bootstrap.auth_factory import create_authenticator
from agentfn.bootstrap.mcp_factory import create_mcp_server
from agentfn.bootstrap.storage_factory import Storage
from agentfn.event_sources.api_gateway_event import base_url
from agentfn.runs.runner import Runner
from agentfn.settings import Settings


class HttpApp(NamedTuple):
    app: ASGIApp
    task_streams: TaskStreams


def create_http_app(
    agent: Agent,
    settings: Settings,
    storage: Storage,
    runner: Runner,
    push_configs: PushConfigService | None,
    signing_keys: SigningKeys | None,
) -> HttpApp:
    task_store, bucket, _ = storage
    authenticator = create_authenticator(agent, settings)
    card_endpoint = CardEndpoint(agent, authenticator.scheme, settings, signing_keys)
    streams = TaskStreams(task_store, bucket, may_reply_with_message=runner.engine.may_reply_with_message)
    messages = MessageAcceptor(agent, settings, runner, task_store, bucket, push_configs)
    request_handler = AgentRequestHandler(settings, messages, task_store, bucket, streams, card_endpoint, push_configs)
    app = create_app(
        agent,
        request_handler,
        authenticator,
        settings,
        card_endpoint,
        functools.partial(base_url, public_url=settings.http.public_url, base_path=settings.http.base_path),
        create_mcp_server(agent, settings, bucket, runner.engine),
        file_routes(task_store, bucket, agent.name, settings.message.max_upload_bytes),
    )
    return HttpApp(app, streams)
