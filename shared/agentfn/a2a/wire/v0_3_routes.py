"""Routes of protocol 0.3's HTTP binding that the sdk lacks or gets wrong.

The sdk's streams send their headers before the first event: an error would become an empty response with status 200.
"""

from collections.abc import AsyncIterable, Awaitable, Callable
from typing import Any

from a2a.compat.v0_3.context_builders import V03ServerCallContextBuilder
from a2a.compat.v0_3.rest_handler import REST03Handler
from a2a.server.context import ServerCallContext
from a2a.server.request_handlers.request_handler import RequestHandler
from a2a.server.routes.common import ServerCallContextBuilder, create_event_source_response
from a2a.types import DeleteTaskPushNotificationConfigRequest
from a2a.utils import json_utils
from a2a.utils.error_handlers import build_rest_error_payload, rest_error_handler, rest_stream_error_handler
from a2a.utils.errors import A2AError
from sse_starlette.event import ServerSentEvent
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

TASK_PATH = "/v1/tasks/{id}"

EventSource = Callable[[Request, ServerCallContext], AsyncIterable[Any]]
RouteEndpoint = Callable[[Request], Awaitable[Response]]


def create_v0_3_routes(request_handler: RequestHandler, context_builder: ServerCallContextBuilder) -> list[Route]:
    """Creates routes that must come before the sdk's own."""
    old_contexts = V03ServerCallContextBuilder(context_builder)
    handler = REST03Handler(request_handler)
    sending = _stream_endpoint(handler.on_message_send_stream, old_contexts)
    following = _stream_endpoint(handler.on_subscribe_to_task, old_contexts)
    return [
        Route("/v1/message:stream", sending, methods=["POST"]),
        Route(f"{TASK_PATH}:subscribe", following, methods=["GET", "POST"]),
        Route(
            f"{TASK_PATH}/pushNotificationConfigs/{{push_id}}",
            _delete_endpoint(request_handler, old_contexts),
            methods=["DELETE"],
        ),
    ]


def _stream_endpoint(events_of: EventSource, context_builder: V03ServerCallContextBuilder) -> RouteEndpoint:
    @rest_stream_error_handler
    async def stream(request: Request) -> Response:
        await request.body()  # it cannot be read once the response has begun
        events = aiter(events_of(request, context_builder.build(request)))
        first = await anext(events)

        async def server_sent_events() -> Any:
            yield ServerSentEvent(json_utils.dumps(first))
            try:
                async for event in events:
                    yield ServerSentEvent(json_utils.dumps(event))
            except A2AError as error:
                yield ServerSentEvent(json_utils.dumps(build_rest_error_payload(error)), event="error")

        return create_event_source_response(server_sent_events())

    return stream


def _delete_endpoint(request_handler: RequestHandler, context_builder: V03ServerCallContextBuilder) -> RouteEndpoint:
    @rest_error_handler
    async def delete(request: Request) -> Response:
        wanted = DeleteTaskPushNotificationConfigRequest(
            task_id=request.path_params["id"], id=request.path_params["push_id"]
        )
        await request_handler.on_delete_task_push_notification_config(wanted, context_builder.build(request))
        return Response(status_code=204)

    return delete
