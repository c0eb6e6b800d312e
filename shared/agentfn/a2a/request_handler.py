"""The request handler behind the sdk's routes: every method of the protocol, for both versions and both bindings.

The sdk's own handler is not used: it runs agents in the background of the process, and Lambda freezes the process.
"""

import contextlib
from collections.abc import AsyncGenerator
from dataclasses import dataclass
from typing import Any

from a2a.server.context import ServerCallContext
from a2a.server.events.event_queue import Event
from a2a.server.request_handlers.request_handler import RequestHandler, validate_request_params
from a2a.types import (
    AgentCard,
    CancelTaskRequest,
    DeleteTaskPushNotificationConfigRequest,
    GetExtendedAgentCardRequest,
    GetTaskPushNotificationConfigRequest,
    GetTaskRequest,
    ListTaskPushNotificationConfigsRequest,
    ListTaskPushNotificationConfigsResponse,
    ListTasksRequest,
    ListTasksResponse,
    Message,
    SendMessageRequest,
    SubscribeToTaskRequest,
    Task,
    TaskPushNotificationConfig,
    TaskState,
)
from a2a.utils.errors import (
    ExtendedAgentCardNotConfiguredError,
    InvalidParamsError,
    PushNotificationNotSupportedError,
    TaskNotCancelableError,
    TaskNotFoundError,
    UnsupportedOperationError,
)
from a2a.utils.proto_utils import validate_proto_required_fields
from a2a.utils.task import apply_history_length, validate_history_length, validate_page_size

from agentfn.a2a.card.card_endpoint import CardEndpoint
from agentfn.a2a.error_boundary import hide_internal_errors
from agentfn.a2a.inbound_message import MAX_ID_CHARS
from agentfn.a2a.message_acceptor import MessageAcceptor
from agentfn.a2a.outbound_task import message_reply, presign_task
from agentfn.a2a.push.push_configs import PushConfigService
from agentfn.a2a.task_streams import STREAMING_UNSUPPORTED, TaskStreams
from agentfn.a2a.wire.v0_3 import set_empty_history
from agentfn.call_context import CallContext
from agentfn.errors import ConflictError
from agentfn.files import Bucket
from agentfn.runs.task_updates import with_status
from agentfn.settings import Settings
from agentfn.store import TaskRecord, TaskStore
from agentfn.store.task_events import status_event


@dataclass(frozen=True)
class AgentRequestHandler(RequestHandler):
    """Handles the protocol's methods. `push_configs` is None if the agent sends no push notifications."""

    settings: Settings
    messages: MessageAcceptor
    task_store: TaskStore
    bucket: Bucket
    task_streams: TaskStreams
    card_endpoint: CardEndpoint
    push_configs: PushConfigService | None = None

    @validate_request_params
    async def on_message_send(self, params: SendMessageRequest, context: ServerCallContext) -> Task | Message:
        """Returns at once if `return_immediately` is set, else when the task ends, waits, or time is up."""
        call = CallContext.from_sdk(context)
        async with hide_internal_errors(call):
            record = await self.messages.accept(params, call)
            return message_reply(record.task) or self._to_response(record.task, call, params.configuration)

    @validate_request_params
    async def on_get_task(self, params: GetTaskRequest, context: ServerCallContext) -> Task | None:
        call = CallContext.from_sdk(context)
        async with hide_internal_errors(call):
            validate_history_length(params)
            set_empty_history(params, call)
            record = await self._read_task(call, params.id)
            task = self._to_response(record.task, call, params)
            if record.has_push and self.push_configs is not None:
                task.metadata.update({"agentfn": await self.push_configs.delivery_metadata(record)})
            return task

    @validate_request_params
    async def on_list_tasks(self, params: ListTasksRequest, context: ServerCallContext) -> ListTasksResponse:
        call = CallContext.from_sdk(context)
        async with hide_internal_errors(call):
            validate_history_length(params)
            if params.HasField("page_size"):
                validate_page_size(params.page_size)
            if (length := len(params.context_id)) > MAX_ID_CHARS:
                raise InvalidParamsError(f"context_id has {length:,} characters; {MAX_ID_CHARS} are allowed")

            def to_response(task: Task) -> Task:
                response = self._to_response(task, call, params)
                if not params.include_artifacts:
                    response.ClearField("artifacts")
                return response

            return await self.task_store.list_page(params, call.caller.id, to_response)

    @validate_request_params
    async def on_cancel_task(self, params: CancelTaskRequest, context: ServerCallContext) -> Task | None:
        """Writes the new state. The run that holds the task, in whatever invocation, reads it and stops."""
        call = CallContext.from_sdk(context)
        async with hide_internal_errors(call):
            while True:
                record = await self._read_task(call, params.id)
                if record.is_terminal:
                    state = TaskState.Name(record.task.status.state)
                    raise TaskNotCancelableError(f"Task cannot be canceled - current state: {state}")
                task = with_status(record.task, TaskState.TASK_STATE_CANCELED, "Canceled at the caller's request.")
                try:
                    saved = await self.task_store.save(record, task=task, events=[status_event(task)], leased=False)
                except ConflictError:
                    continue
                return self._to_response(saved.task, call)

    @validate_request_params
    async def on_message_send_stream(
        self, params: SendMessageRequest, context: ServerCallContext
    ) -> AsyncGenerator[Event]:
        """Yields the task, then its events, while this invocation works on it."""
        self._require_streaming()
        call = CallContext.from_sdk(context)
        async with hide_internal_errors(call):
            record = await self.messages.accept(params, call, self.task_streams)
        async for event in self._follow_task(record, call, params.configuration):
            yield event

    @validate_request_params
    async def on_subscribe_to_task(
        self, params: SubscribeToTaskRequest, context: ServerCallContext
    ) -> AsyncGenerator[Event]:
        self._require_streaming()
        call = CallContext.from_sdk(context)
        async with hide_internal_errors(call):
            record = await self._read_task(call, params.id)
        if record.is_terminal:
            raise UnsupportedOperationError(f"task {record.task.id} has ended: there is nothing to wait for; get it")
        async for event in self._follow_task(record, call, None):
            yield event

    @validate_request_params
    async def on_create_task_push_notification_config(
        self, params: TaskPushNotificationConfig, context: ServerCallContext
    ) -> TaskPushNotificationConfig:
        call = CallContext.from_sdk(context)
        async with hide_internal_errors(call):
            push_configs = self._require_push()
            return await push_configs.set(await self._read_task(call, params.task_id), params, call)

    async def on_get_task_push_notification_config(
        self, params: GetTaskPushNotificationConfigRequest, context: ServerCallContext
    ) -> TaskPushNotificationConfig:
        call = CallContext.from_sdk(context)
        if not call.is_v0_3:  # there the id is optional
            validate_proto_required_fields(params)
        async with hide_internal_errors(call):
            push_configs = self._require_push()
            return await push_configs.get(await self._read_task(call, params.task_id), params.id)

    @validate_request_params
    async def on_list_task_push_notification_configs(
        self, params: ListTaskPushNotificationConfigsRequest, context: ServerCallContext
    ) -> ListTaskPushNotificationConfigsResponse:
        call = CallContext.from_sdk(context)
        async with hide_internal_errors(call):
            push_configs = self._require_push()
            configs = await push_configs.list(await self._read_task(call, params.task_id))
            return ListTaskPushNotificationConfigsResponse(configs=configs)

    @validate_request_params
    async def on_delete_task_push_notification_config(
        self, params: DeleteTaskPushNotificationConfigRequest, context: ServerCallContext
    ) -> None:
        call = CallContext.from_sdk(context)
        async with hide_internal_errors(call):
            push_configs = self._require_push()
            await push_configs.delete(await self._read_task(call, params.task_id), params.id)

    async def on_get_extended_agent_card(
        self, params: GetExtendedAgentCardRequest, context: ServerCallContext
    ) -> AgentCard:
        """Returns the extended card. For protocol 0.3 it is unsigned: the signature covers the 1.0 layout."""
        call = CallContext.from_sdk(context)
        async with hide_internal_errors(call):
            if not self.card_endpoint.has_extended:
                error = ExtendedAgentCardNotConfiguredError if call.is_v0_3 else UnsupportedOperationError
                raise error("this agent has no extended card: its public one says all")
            return await self.card_endpoint.extended_card(call.base_url, signed=not call.is_v0_3)

    async def _follow_task(self, record: TaskRecord, call: CallContext, config: Any) -> AsyncGenerator[Event]:
        async with hide_internal_errors(call), contextlib.aclosing(self.task_streams.follow(record, call)) as events:
            async for event in events:
                yield apply_history_length(event, config) if isinstance(event, Task) else event

    def _require_push(self) -> PushConfigService:
        if self.push_configs is None:
            raise PushNotificationNotSupportedError
        return self.push_configs

    def _require_streaming(self) -> None:
        if not self.settings.http.streaming:
            raise UnsupportedOperationError(STREAMING_UNSUPPORTED)

    async def _read_task(self, call: CallContext, task_id: str) -> TaskRecord:
        record = await self.task_store.read(call.caller.id, task_id)
        if record is None:
            raise TaskNotFoundError
        return record

    def _to_response(self, task: Task, call: CallContext, config: Any = None) -> Task:
        return apply_history_length(presign_task(task, self.bucket, call.base_url), config)
