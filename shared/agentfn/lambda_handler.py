"""An agent as a Lambda handler."""

import asyncio
import functools
import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from mangum import Mangum
from mangum.adapter import DEFAULT_TEXT_MIME_TYPES

from agentfn.a2a import (
    AgentRequestHandler,
    CardEndpoint,
    PushConfigService,
    WebhookDelivery,
    WebhookSigner,
    create_app,
    file_routes,
)
from agentfn.a2a.task_streams import TaskStreams
from agentfn.agent import Agent
from agentfn.bootstrap import (
    create_authenticator,
    create_loop_engine,
    create_mcp_server,
    create_signing_keys,
    create_storage,
    create_sweep,
)
from agentfn.deadline import Deadline, LambdaContext
from agentfn.errors import AwsError, StoredDataError
from agentfn.event_sources.api_gateway import (
    Event,
    base_url,
    is_api_gateway_event,
    is_schedule_event,
    is_sqs_event,
    normalize_event,
)
from agentfn.fetch import Fetcher
from agentfn.runs.engine import Engine
from agentfn.runs.executor_engine import ExecutorEngine
from agentfn.runs.runner import Runner
from agentfn.runs.work_queue import Continuation, PushJob, parse_message
from agentfn.settings import Settings
from agentfn.store.push_store import PushStore
from agentfn.telemetry import logger
from agentfn.tools.execution import ConcurrencyLimiter
from agentfn.warm_up import prepare_environment

if TYPE_CHECKING:
    from a2a.server.agent_execution import AgentExecutor
    from starlette.types import Message

A2A_JSON_TYPES = ["application/a2a+json", "application/problem+json"]  # text too, though Mangum does not know


def serve(
    agent: Agent, settings: Settings | None = None, *, executor: "AgentExecutor | None" = None, repeatable: bool = False
) -> "LambdaHandler":
    """The agent's Lambda handler: for API Gateway (REST, HTTP API v1 and v2), the agent's queue and its schedule.

    With an `executor`, an agent that was written with another framework works in the place of the loop: the agent's
    tools, instructions and model are not used. It runs whole in one invocation of the queue's door; `repeatable` says
    that after a run that died it may be run again.

    Reads the environment once. Raises ConfigurationError, naming the variable, where something needed is not there.
    """
    executing = ExecutorEngine(executor, repeatable) if executor is not None else None
    doors = LambdaHandler(agent, settings or Settings.load(os.environ), executing)
    prepare_environment(doors.engine)
    return doors


class LambdaHandler:
    """An agent's doors, told apart by the shape of the event.

    One event loop serves them all for as long as the process lives: async clients are bound to the loop they began in.
    """

    def __init__(self, agent: Agent, settings: Settings, executor: ExecutorEngine | None = None) -> None:
        logger.append_keys(agent=agent.name)
        self._arguments = agent, settings, executor
        self._settings = settings
        storage = create_storage(agent, settings)
        task_store, bucket, queue = storage
        self.engine: Engine = executor or create_loop_engine(
            agent, settings, ConcurrencyLimiter(settings.tools.max_per_process)
        )
        self._runner = Runner(task_store, bucket, queue, self.engine, settings)
        self._sweep = create_sweep(storage, settings)
        pushes, poster = PushStore(task_store), Fetcher.from_settings(settings)
        door, ring = create_authenticator(agent, settings), create_signing_keys(settings)
        cards = CardEndpoint(agent, door.scheme, settings, ring)
        notary = WebhookSigner(ring) if ring and settings.push.signed else None
        self._delivering = WebhookDelivery(agent.name, task_store, queue, bucket, pushes, poster, notary)
        pushing = PushConfigService(task_store, queue, pushes, poster) if settings.push.enabled else None
        streams = TaskStreams(task_store, bucket, may_reply_with_message=self.engine.may_reply_with_message)
        self._requests = requests = AgentRequestHandler(
            agent, settings, self._runner, task_store, bucket, streams, cards, pushing
        )
        self._app = create_app(
            agent,
            requests,
            door,
            settings,
            cards,
            functools.partial(base_url, public_url=settings.http.public_url, base_path=settings.http.base_path),
            create_mcp_server(agent, settings, bucket, self.engine),
            file_routes(task_store, bucket, agent.name, settings.message.max_upload_bytes),
        )
        self._loop = asyncio.new_event_loop()
        asyncio.set_event_loop(self._loop)
        self._mangum = Mangum(
            self._app,  # type: ignore[arg-type]
            lifespan="off",
            text_mime_types=[*DEFAULT_TEXT_MIME_TYPES, *A2A_JSON_TYPES],
        )

    def __call__(self, event: Event, context: LambdaContext) -> Any:
        if is_sqs_event(event):
            return self._loop.run_until_complete(self._handle_batch(event, context))
        if is_schedule_event(event):
            return self._loop.run_until_complete(self._sweep.run(self._deadline(context)))
        if is_api_gateway_event(event):
            asyncio.set_event_loop(self._loop)  # the one that Mangum asks for
            return self._mangum(self._normalize(event), context)  # type: ignore[arg-type]
        raise ValueError(f"neither an API Gateway request nor a batch of the agent's queue: {sorted(event)}")

    def stream(self, event: Event, context: LambdaContext, send: "Callable[[Message], None]") -> None:
        """Answers an API Gateway event part by part: `send` is handed ASGI's messages as they are made.

        It may block, and raises OSError when the client is gone; the work on a task that he began goes on.
        """
        request = self._mangum.infer(self._normalize(event), context)  # type: ignore[arg-type]
        self._loop.run_until_complete(self._run_app(request.scope, request.body or b"", send))

    def clone(self) -> "LambdaHandler":
        """The same in another execution environment, for those who have more than one in a process."""
        return LambdaHandler(*self._arguments)

    def close(self) -> None:
        """For those who serve more than one in a process; Lambda never does."""
        self._loop.run_until_complete(self._runner.engine.aclose())
        self._loop.run_until_complete(self._loop.shutdown_default_executor())
        self._loop.close()

    def _normalize(self, event: Event) -> Event:
        """The event as the web application wants it."""
        return normalize_event(event, self._settings.http.base_path)

    async def _run_app(self, scope: Any, body: bytes, send: "Callable[[Message], None]") -> None:
        over = asyncio.Event()
        unread = [body]

        async def receive() -> "Message":
            if unread:
                return {"type": "http.request", "body": unread.pop()}
            await over.wait()
            return {"type": "http.disconnect"}

        async def tell(message: "Message") -> None:
            try:
                send(message)
            except OSError:
                over.set()

        before = asyncio.all_tasks()
        try:
            await self._app(scope, receive, tell)
        finally:
            over.set()
            await self._requests.task_streams.drain()
            for task in asyncio.all_tasks() - before:  # the sdk's event source leaves a watcher behind
                task.cancel()

    async def _handle_batch(self, event: Event, context: LambdaContext) -> dict[str, list[dict[str, str]]]:
        """Works through a batch. What failed is named, so that the queue brings that alone back."""
        failures = []
        for record in event["Records"]:
            try:
                message = parse_message(record)
            except (ValueError, KeyError, TypeError):
                logger.error("a message that is no continuation is dropped", message_id=record.get("messageId"))
                continue
            if not await self._handle_message(message, context):
                failures.append({"itemIdentifier": message.message_id})
        return {"batchItemFailures": failures}

    async def _handle_message(self, message: Continuation | PushJob, context: LambdaContext) -> bool:
        try:
            if isinstance(message, PushJob):
                await self._delivering.deliver(message, self._deadline(context))
            else:
                await self._runner.resume(message, self._deadline(context))
        except AwsError:
            logger.exception("AWS failed; the queue brings the message back", task_id=message.task_id)
            await self._runner.release_message(message)
            return False
        except (
            StoredDataError
        ) as error:  # a later agentfn's: it comes back when the queue sees fit, perhaps to that one
            logger.error("not resumed: %s", error, task_id=message.task_id)
            return False
        return True

    def _deadline(self, context: LambdaContext) -> Deadline:
        return Deadline.from_lambda_context(context, reserve_seconds=self._settings.run.reserve_seconds)
