"""HTTP requests through API Gateway: a REST API, or an HTTP API with payload version 1.0 or 2.0."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

from mangum.adapter import DEFAULT_TEXT_MIME_TYPES
from mangum.handlers import APIGateway, HTTPGateway
from mangum.protocols import HTTPCycle
from mangum.types import LambdaConfig

from agentfn.deadline import LambdaContext
from agentfn.event_sources.api_gateway_event import is_api_gateway_event, normalize_event
from agentfn.event_sources.event_source import Event

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message

A2A_JSON_TYPES = ["application/a2a+json", "application/problem+json"]  # text, which Mangum does not know
MANGUM_CONFIG = LambdaConfig(
    api_gateway_base_path="/", text_mime_types=[*DEFAULT_TEXT_MIME_TYPES, *A2A_JSON_TYPES], exclude_headers=[]
)


class ApiGatewayEventSource:
    """Passes requests to an ASGI app. `drain` waits for the app's streams to end.

    Mangum's own parts translate events and responses; its adapter runs an event loop, which the Lambda handler does.
    """

    def __init__(self, app: "ASGIApp", base_path: str, drain: Callable[[], Awaitable[None]]) -> None:
        self._app = app
        self._base_path = base_path
        self._drain = drain

    def matches(self, event: Event) -> bool:
        return is_api_gateway_event(event)

    async def handle(self, event: Event, context: LambdaContext) -> dict[str, Any]:
        """The proxy response."""
        request = self._request(event, context)
        cycle = HTTPCycle(request.scope, request.body or b"")
        await cycle.run(self._app)  # type: ignore[arg-type]
        response = {"status": cycle.status, "headers": cycle.headers, "body": cycle.body}
        return request(response)  # type: ignore[no-any-return]

    async def stream(self, event: Event, context: LambdaContext, send: "Callable[[Message], None]") -> None:
        """Passes each ASGI message of the response to `send` as soon as the app sends it.

        `send` may block, and raises OSError when the client disconnected; work on a task goes on after that.
        """
        request = self._request(event, context)
        await self._run_app(request.scope, request.body or b"", send)

    def _request(self, event: Event, context: LambdaContext) -> Any:
        translator = HTTPGateway if "version" in event else APIGateway
        return translator(normalize_event(event, self._base_path), context, MANGUM_CONFIG)  # type: ignore[arg-type]

    async def _run_app(self, scope: Any, body: bytes, send: "Callable[[Message], None]") -> None:
        disconnected = asyncio.Event()
        unread = [body]

        async def receive() -> "Message":
            if unread:
                return {"type": "http.request", "body": unread.pop()}
            await disconnected.wait()
            return {"type": "http.disconnect"}

        async def send_message(message: "Message") -> None:
            try:
                send(message)
            except OSError:
                disconnected.set()

        tasks_before = asyncio.all_tasks()
        try:
            await self._app(scope, receive, send_message)
        finally:
            disconnected.set()
            await self._drain()
            for task in asyncio.all_tasks() - tasks_before:  # the sdk's event source leaves one behind
                task.cancel()
