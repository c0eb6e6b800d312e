"""The event sources of an agent, and what handles their events."""

from typing import NamedTuple

from agentfn.a2a import PushConfigService, WebhookDelivery, WebhookSigner
from agentfn.agent import Agent
from agentfn.bootstrap.app_factory import create_http_app
from agentfn.bootstrap.auth_factory import create_signing_keys
from agentfn.bootstrap.storage_factory import create_dead_letter_queue, create_storage
from agentfn.event_sources.api_gateway import ApiGatewayEventSource
from agentfn.event_sources.schedule import ScheduleEventSource
from agentfn.event_sources.sqs import SqsEventSource
from agentfn.fetch import Fetcher
from agentfn.runs.engine import Engine
from agentfn.runs.runner import Runner
from agentfn.runs.sweep import Sweep
from agentfn.settings import Settings


class EventSources(NamedTuple):
    api_gateway: ApiGatewayEventSource
    sqs: SqsEventSource
    schedule: ScheduleEventSource


def create_event_sources(agent: Agent, settings: Settings, engine: Engine) -> EventSources:
    storage = task_store, bucket, queue = create_storage(agent, settings)
    runner = Runner(task_store, bucket, queue, engine, settings)
    push_store, fetcher = task_store.push_store, Fetcher.from_settings(settings)
    push_configs = PushConfigService(task_store, queue, push_store, fetcher) if settings.push.enabled else None
    signing_keys = create_signing_keys(settings)
    signer = WebhookSigner(signing_keys) if signing_keys and settings.push.signed else None
    delivery = WebhookDelivery(agent.name, task_store, queue, bucket, push_store, fetcher, signer)
    app, task_streams = create_http_app(agent, settings, storage, runner, push_configs, signing_keys)
    sweep = Sweep(task_store, queue, create_dead_letter_queue(settings))
    reserve_seconds = settings.run.reserve_seconds
    return EventSources(
        ApiGatewayEventSource(app, settings.http.base_path, task_streams.drain),
        SqsEventSource(runner, delivery, reserve_seconds),
        ScheduleEventSource(sweep, reserve_seconds),
    )
