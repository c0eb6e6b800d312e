"""An agent as a Lambda handler."""

import asyncio
import os
import sys
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError
from mangum import Mangum
from mangum.adapter import DEFAULT_TEXT_MIME_TYPES

from agentfn.a2a import AgentRequests, web_app
from agentfn.agent import Agent
from agentfn.continuations import Continuation
from agentfn.deadline import Deadline, LambdaContext
from agentfn.gateway import Event, address, is_http, is_queue, settled
from agentfn.settings import Settings
from agentfn.telemetry import logger
from agentfn.wiring import door_for, runner_for

JSON_TYPES = ["application/a2a+json", "application/problem+json"]  # text too, though Mangum does not know


def serve(agent: Agent, settings: Settings | None = None) -> "Doors":
    """The agent's Lambda handler: for API Gateway (REST, HTTP API v1 and v2) and for the agent's queue.

    Reads the environment once. Raises ConfigurationError, naming the variable, where something needed is not there.
    """
    return Doors(agent, settings or Settings.load(os.environ))


class Doors:
    """An agent's doors, told apart by the shape of the event.

    One event loop serves them all for as long as the process lives: async clients are bound to the loop they began in.
    """

    def __init__(self, agent: Agent, settings: Settings) -> None:
        logger.append_keys(agent=agent.name)
        self._settings = settings
        self._runner = runner_for(agent, settings)
        requests = AgentRequests(self._runner)
        self._app = web_app(agent, requests, door_for(agent, settings), settings.max_body_size)
        self._loop = asyncio.new_event_loop()
        asyncio.set_event_loop(self._loop)
        self._mangum = Mangum(
            self._app,  # type: ignore[arg-type]
            lifespan="off",
            text_mime_types=[*DEFAULT_TEXT_MIME_TYPES, *JSON_TYPES],
        )

    def __call__(self, event: Event, context: LambdaContext) -> Any:
        if is_queue(event):
            return self._loop.run_until_complete(self._continue(event, context))
        if is_http(event):
            where = address(event, self._settings.public_url, self._settings.base_path)
            own = settled(event, self._settings.base_path) | {"agentfn.address": where}
            asyncio.set_event_loop(self._loop)  # the one that Mangum asks for
            return self._mangum(own, context)  # type: ignore[arg-type]
        raise ValueError(f"neither an API Gateway request nor a batch of the agent's queue: {sorted(event)}")

    def close(self) -> None:
        """For those who serve more than one in a process; Lambda never does."""
        if litellm := sys.modules.get("agentfn.models.litellm"):  # its clients belong to the loop
            self._loop.run_until_complete(litellm.close())
        self._loop.run_until_complete(self._loop.shutdown_default_executor())
        self._loop.close()

    async def _continue(self, event: Event, context: LambdaContext) -> dict[str, list[dict[str, str]]]:
        """Works through a batch. What failed is named, so that the queue brings that alone back."""
        failures = []
        for record in event["Records"]:
            try:
                message = Continuation.read(record)
            except (ValueError, KeyError, TypeError):
                logger.error("a message that is no continuation is dropped", message_id=record.get("messageId"))
                continue
            try:
                await self._runner.resume(message, Deadline.of(context, reserve=self._settings.reserve_seconds))
            except (BotoCoreError, ClientError):
                logger.exception("not resumed; the queue brings it back", task_id=message.task_id)
                failures.append({"itemIdentifier": message.message_id})
        return {"batchItemFailures": failures}
