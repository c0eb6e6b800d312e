"""The Lambda handler: passes each event to its source."""

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from agentfn.deadline import LambdaContext
from agentfn.event_sources.api_gateway import ApiGatewayEventSource
from agentfn.event_sources.event_source import Event, EventSource
from agentfn.runs.engine import Engine

if TYPE_CHECKING:
    from starlette.types import Message


class LambdaHandler:
    """Handles an agent's events. `serve` creates it.

    All events run on one event loop for the life of the process, because async clients are bound to the loop that
    they were created on. A new handler's loop becomes the current one.
    """

    def __init__(
        self,
        engine: Engine,
        api_gateway: ApiGatewayEventSource,
        *others: EventSource,
        create_another: "Callable[[], LambdaHandler]",
    ) -> None:
        self.engine = engine
        self._loop = asyncio.new_event_loop()
        asyncio.set_event_loop(self._loop)
        self._api_gateway = api_gateway
        self._event_sources: tuple[EventSource, ...] = (*others, api_gateway)
        self._create_another = create_another

    def __call__(self, event: Event, context: LambdaContext) -> Any:
        """Raises ValueError for an event of no known source."""
        for source in self._event_sources:
            if source.matches(event):
                return self._loop.run_until_complete(source.handle(event, context))
        raise ValueError(f"neither an API Gateway request nor a batch of the agent's queue: {sorted(event)}")

    def stream(self, event: Event, context: LambdaContext, send: "Callable[[Message], None]") -> None:
        """Streams the response to an API Gateway event: `send` gets each ASGI message as soon as it exists.

        `send` may block, and raises OSError when the client disconnected; work on a task goes on after that.
        """
        self._loop.run_until_complete(self._api_gateway.stream(event, context, send))

    def clone(self) -> "LambdaHandler":
        """A handler for the same agent with an event loop of its own, as another execution environment has it."""
        return self._create_another()

    def close(self) -> None:
        """Closes the model's connections and the event loop. For tests and the local server: Lambda never calls it."""
        self._loop.run_until_complete(self.engine.aclose())
        self._loop.run_until_complete(self._loop.shutdown_default_executor())
        self._loop.close()
