"""Every method of the protocol, for both dialects and both bindings: the sdk's routes end here.

The sdk's own handler is not used: its producers run in the background of a living process, and a Lambda function has
none.
"""

import contextlib
from collections.abc import AsyncGenerator
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
from agentfn.a2a.inbound_message import MAX_ID_CHARS, parse_message
from agentfn.a2a.media_types import check_accepted_types
from agentfn.a2a.outbound_task import message_reply, presign_task
from agentfn.a2a.push.push_configs import PushConfigService, is_v0_3
from agentfn.a2a.send_message import SendMessage
from agentfn.a2a.task_streams import STREAMING_UNSUPPORTED, TaskStreams
from agentfn.a2a.wire.v0_3 import set_empty_history
from agentfn.deadline import Deadline
from agentfn.errors import ConflictError
from agentfn.files import UploadStore
from agentfn.runs.runner import Runner
from agentfn.runs.task_updates import METADATA_KEY, with_status
from agentfn.store import TaskLister, TaskRecord
from agentfn.store.push_store import PushSubscription
from agentfn.store.task_events import status_event


class AgentRequestHandler(RequestHandler):
    """`pushing` is None where the agent sends no push notifications."""

    def __init__(
        self, runner: Runner, card_endpoint: CardEndpoint, push_configs: PushConfigService | None = None
    ) -> None:
        self._runner = runner
        self._card_endpoint = card_endpoint
        self._tasks = runner.tasks
        self._push_configs = push_configs
        self.task_streams = TaskStreams(runner)

    @validate_request_params
    async def on_message_send(self, params: SendMessageRequest, context: ServerCallContext) -> Task | Message:
        """Answers at once where `return_immediately` says so, else when the task ends, waits, or time is up."""
        async with hide_internal_errors(context):
            head = await self._accept_message(params, context)
            return message_reply(head.task) or self._to_response(head.task, params.configuration)

    @validate_request_params
    async def on_get_task(self, params: GetTaskRequest, context: ServerCallContext) -> Task | None:
        async with hide_internal_errors(context):
            validate_history_length(params)
            set_empty_history(params, context)
            head = await self._read_task(context, params.id)
            task = self._to_response(head.task, params)
            if head.pushes and self._push_configs is not None:
                task.metadata.update({METADATA_KEY: await self._push_configs.delivery_metadata(head)})
            return task

    @validate_request_params
    async def on_list_tasks(self, params: ListTasksRequest, context: ServerCallContext) -> ListTasksResponse:
        async with hide_internal_errors(context):
            validate_history_length(params)
            if params.HasField("page_size"):
                validate_page_size(params.page_size)
            if len(params.context_id) > MAX_ID_CHARS:
                raise InvalidParamsError(
                    f"context_id has {len(params.context_id):,} characters; {MAX_ID_CHARS} are allowed"
                )

            def listed(task: Task) -> Task:
                shown = self._to_response(task, params)
                if not params.include_artifacts:
                    shown.ClearField("artifacts")
                return shown

            return await TaskLister(self._tasks).list_page(params, context.user.user_name, listed)

    @validate_request_params
    async def on_cancel_task(self, params: CancelTaskRequest, context: ServerCallContext) -> Task | None:
        """A write like any other: the run that holds the task, wherever it is, sees it and stops."""
        async with hide_internal_errors(context):
            while True:
                head = await self._read_task(context, params.id)
                if head.is_terminal:
                    state = TaskState.Name(head.task.status.state)
                    raise TaskNotCancelableError(f"Task cannot be canceled - current state: {state}")
                task = with_status(head.task, TaskState.TASK_STATE_CANCELED, "Canceled at the caller's request.")
                try:
                    saved = await self._tasks.save(head, task=task, events=[status_event(task)], held=False)
                except ConflictError:
                    continue
                return self._to_response(saved.task)

    @validate_request_params
    async def on_message_send_stream(
        self, params: SendMessageRequest, context: ServerCallContext
    ) -> AsyncGenerator[Event]:
        """The task first, then its events, while this invocation works on it."""
        self._require_streaming()
        async with hide_internal_errors(context):
            head = await self._accept_message(params, context, self.task_streams)
        async for event in self._follow_task(head, context, params.configuration):
            yield event

    @validate_request_params
    async def on_subscribe_to_task(
        self, params: SubscribeToTaskRequest, context: ServerCallContext
    ) -> AsyncGenerator[Event]:
        self._require_streaming()
        async with hide_internal_errors(context):
            head = await self._read_task(context, params.id)
        if head.is_terminal:
            raise UnsupportedOperationError(f"task {head.task.id} has ended: there is nothing to wait for; get it")
        async for event in self._follow_task(head, context, None):
            yield event

    @validate_request_params
    async def on_create_task_push_notification_config(
        self, params: TaskPushNotificationConfig, context: ServerCallContext
    ) -> TaskPushNotificationConfig:
        async with hide_internal_errors(context):
            pushing = self._require_push()
            return await pushing.set(await self._read_task(context, params.task_id), params, context)

    async def on_get_task_push_notification_config(
        self, params: GetTaskPushNotificationConfigRequest, context: ServerCallContext
    ) -> TaskPushNotificationConfig:
        if not is_v0_3(context):  # an old client may leave the id out
            validate_proto_required_fields(params)
        async with hide_internal_errors(context):
            pushing = self._require_push()
            return await pushing.get(await self._read_task(context, params.task_id), params.id)

    @validate_request_params
    async def on_list_task_push_notification_configs(
        self, params: ListTaskPushNotificationConfigsRequest, context: ServerCallContext
    ) -> ListTaskPushNotificationConfigsResponse:
        async with hide_internal_errors(context):
            pushing = self._require_push()
            configs = await pushing.list(await self._read_task(context, params.task_id))
            return ListTaskPushNotificationConfigsResponse(configs=configs)

    @validate_request_params
    async def on_delete_task_push_notification_config(
        self, params: DeleteTaskPushNotificationConfigRequest, context: ServerCallContext
    ) -> None:
        async with hide_internal_errors(context):
            pushing = self._require_push()
            await pushing.delete(await self._read_task(context, params.task_id), params.id)

    async def on_get_extended_agent_card(
        self, params: GetExtendedAgentCardRequest, context: ServerCallContext
    ) -> AgentCard:
        """Old clients get it unsigned: a signature is over the layout of 1.0."""
        async with hide_internal_errors(context):
            if not self._card_endpoint.has_extended:
                missing = ExtendedAgentCardNotConfiguredError if is_v0_3(context) else UnsupportedOperationError
                raise missing("this agent has no extended card: its public one says all")
            return await self._card_endpoint.extended_card(context.state["address"], signed=not is_v0_3(context))

    async def _accept_message(
        self, params: SendMessageRequest, context: ServerCallContext, listener: TaskStreams | None = None
    ) -> TaskRecord:
        validate_history_length(params.configuration)
        set_empty_history(params.configuration, context)
        check_accepted_types(params.configuration.accepted_output_modes, self._runner.agent.output_modes)
        wait = listener is not None or not params.configuration.return_immediately
        owner, lambda_context = context.user.user_name, context.state["lambda"]
        # Its time runs from here on: files may have to be fetched first.
        sending = SendMessage(self._runner, owner, lambda_context, wait=wait, task_streams=listener)
        key = context.state["headers"].get("idempotency-key", "").strip()
        agent, settings = self._runner.agent, self._runner.settings
        incoming = parse_message(params.message, agent, settings, key)
        if incoming.has_remote_files and (head := await sending.find_duplicate(incoming)):
            return head
        incoming = await incoming.load_files(agent, settings, UploadStore(self._runner.bucket, agent.name, owner))
        push = await self._requested_subscription(params, context)
        if not params.message.task_id:
            return await sending.start(incoming, push)
        if push is not None:
            await self._require_push().set(await self._read_task(context, params.message.task_id), push.config, context)
        return await sending.follow_up(incoming)

    async def _requested_subscription(
        self, params: SendMessageRequest, context: ServerCallContext
    ) -> PushSubscription | None:
        """The push configuration that comes with a message, checked."""
        if not params.configuration.HasField("task_push_notification_config"):
            return None
        config = await self._require_push().validate(params.configuration.task_push_notification_config, "")
        return PushSubscription(config, is_v0_3(context), agent_url=context.state["address"])

    async def _follow_task(self, head: TaskRecord, context: ServerCallContext, config: Any) -> AsyncGenerator[Event]:
        deadline = Deadline.from_lambda_context(
            context.state["lambda"], reserve_seconds=self._runner.settings.run.reserve_seconds
        )
        async with (
            hide_internal_errors(context),
            contextlib.aclosing(self.task_streams.follow(head, deadline)) as events,
        ):
            async for event in events:
                yield apply_history_length(event, config) if isinstance(event, Task) else event

    def _require_push(self) -> PushConfigService:
        if self._push_configs is None:
            raise PushNotificationNotSupportedError
        return self._push_configs

    def _require_streaming(self) -> None:
        if not self._runner.settings.http.streaming:
            raise UnsupportedOperationError(STREAMING_UNSUPPORTED)

    async def _read_task(self, context: ServerCallContext, task_id: str) -> TaskRecord:
        head = await self._tasks.read(context.user.user_name, task_id)
        if head is None:
            raise TaskNotFoundError
        return head

    def _to_response(self, task: Task, config: Any = None) -> Task:
        return apply_history_length(presign_task(task, self._runner.bucket), config)
