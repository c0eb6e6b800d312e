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

from agentfn.a2a.card.card_builder.card_endpoint import Cards
from agentfn.a2a.error_boundary import shielded
from agentfn.a2a.inbound_message import LONGEST_ID, read_message
from agentfn.a2a.media_types import check_answer
from agentfn.a2a.outbound_task import bare_message, signed
from agentfn.a2a.push.push_configs import Pushing, speaks_old
from agentfn.a2a.send_message import Sending
from agentfn.a2a.task_streams import NO_STREAMS, Streaming
from agentfn.a2a.wire.protocol_middleware.v0_3 import without_history
from agentfn.deadline import Deadline
from agentfn.errors import ConflictError
from agentfn.files import Uploads
from agentfn.runs.runner import Runner
from agentfn.runs.task_updates import with_status
from agentfn.store import Head, Listing
from agentfn.store.push_store import Push
from agentfn.store.task_events import status_event


class AgentRequests(RequestHandler):
    """`pushing` is None where the agent sends no push notifications."""

    def __init__(self, runner: Runner, cards: Cards, pushing: Pushing | None = None) -> None:
        self._runner = runner
        self._cards = cards
        self._tasks = runner.tasks
        self._push = pushing
        self.streaming = Streaming(runner)

    @validate_request_params
    async def on_message_send(self, params: SendMessageRequest, context: ServerCallContext) -> Task | Message:
        """Answers at once where `return_immediately` says so, else when the task ends, waits, or time is up."""
        async with shielded(context):
            head = await self._accepted(params, context)
            return bare_message(head.task) or self._shown(head.task, params.configuration)

    @validate_request_params
    async def on_get_task(self, params: GetTaskRequest, context: ServerCallContext) -> Task | None:
        async with shielded(context):
            validate_history_length(params)
            without_history(params, context)
            head = await self._head(context, params.id)
            task = self._shown(head.task, params)
            if head.pushes and self._push is not None:
                task.metadata.update({"agentfn": await self._push.told(head)})
            return task

    @validate_request_params
    async def on_list_tasks(self, params: ListTasksRequest, context: ServerCallContext) -> ListTasksResponse:
        async with shielded(context):
            validate_history_length(params)
            if params.HasField("page_size"):
                validate_page_size(params.page_size)
            if len(params.context_id) > LONGEST_ID:
                raise InvalidParamsError(
                    f"context_id has {len(params.context_id):,} characters; {LONGEST_ID} are allowed"
                )

            def listed(task: Task) -> Task:
                shown = self._shown(task, params)
                if not params.include_artifacts:
                    shown.ClearField("artifacts")
                return shown

            return await Listing(self._tasks).page(params, context.user.user_name, listed)

    @validate_request_params
    async def on_cancel_task(self, params: CancelTaskRequest, context: ServerCallContext) -> Task | None:
        """A write like any other: the run that holds the task, wherever it is, sees it and stops."""
        async with shielded(context):
            while True:
                head = await self._head(context, params.id)
                if head.terminal:
                    state = TaskState.Name(head.task.status.state)
                    raise TaskNotCancelableError(f"Task cannot be canceled - current state: {state}")
                task = with_status(head.task, TaskState.TASK_STATE_CANCELED, "Canceled at the caller's request.")
                try:
                    saved = await self._tasks.save(head, task=task, events=[status_event(task)], held=False)
                except ConflictError:
                    continue
                return self._shown(saved.task)

    @validate_request_params
    async def on_message_send_stream(
        self, params: SendMessageRequest, context: ServerCallContext
    ) -> AsyncGenerator[Event]:
        """The task first, then its events, while this invocation works on it."""
        self._check_streams()
        async with shielded(context):
            head = await self._accepted(params, context, self.streaming)
        async for event in self._followed(head, context, params.configuration):
            yield event

    @validate_request_params
    async def on_subscribe_to_task(
        self, params: SubscribeToTaskRequest, context: ServerCallContext
    ) -> AsyncGenerator[Event]:
        self._check_streams()
        async with shielded(context):
            head = await self._head(context, params.id)
        if head.terminal:
            raise UnsupportedOperationError(f"task {head.task.id} has ended: there is nothing to wait for; get it")
        async for event in self._followed(head, context, None):
            yield event

    @validate_request_params
    async def on_create_task_push_notification_config(
        self, params: TaskPushNotificationConfig, context: ServerCallContext
    ) -> TaskPushNotificationConfig:
        async with shielded(context):
            pushing = self._pushing()
            return await pushing.set(await self._head(context, params.task_id), params, context)

    async def on_get_task_push_notification_config(
        self, params: GetTaskPushNotificationConfigRequest, context: ServerCallContext
    ) -> TaskPushNotificationConfig:
        if not speaks_old(context):  # an old client may leave the id out
            validate_proto_required_fields(params)
        async with shielded(context):
            pushing = self._pushing()
            return await pushing.get(await self._head(context, params.task_id), params.id)

    @validate_request_params
    async def on_list_task_push_notification_configs(
        self, params: ListTaskPushNotificationConfigsRequest, context: ServerCallContext
    ) -> ListTaskPushNotificationConfigsResponse:
        async with shielded(context):
            pushing = self._pushing()
            configs = await pushing.list(await self._head(context, params.task_id))
            return ListTaskPushNotificationConfigsResponse(configs=configs)

    @validate_request_params
    async def on_delete_task_push_notification_config(
        self, params: DeleteTaskPushNotificationConfigRequest, context: ServerCallContext
    ) -> None:
        async with shielded(context):
            pushing = self._pushing()
            await pushing.delete(await self._head(context, params.task_id), params.id)

    async def on_get_extended_agent_card(
        self, params: GetExtendedAgentCardRequest, context: ServerCallContext
    ) -> AgentCard:
        """Old clients get it unsigned: a signature is over the layout of 1.0."""
        async with shielded(context):
            if not self._cards.has_extended:
                missing = ExtendedAgentCardNotConfiguredError if speaks_old(context) else UnsupportedOperationError
                raise missing("this agent has no extended card: its public one says all")
            return await self._cards.extended(context.state["address"], signed=not speaks_old(context))

    async def _accepted(
        self, params: SendMessageRequest, context: ServerCallContext, listener: Streaming | None = None
    ) -> Head:
        validate_history_length(params.configuration)
        without_history(params.configuration, context)
        check_answer(params.configuration.accepted_output_modes, self._runner.agent.output_modes)
        wait = listener is not None or not params.configuration.return_immediately
        owner, lambda_context = context.user.user_name, context.state["lambda"]
        # Its time runs from here on: files may have to be fetched first.
        sending = Sending(self._runner, owner, lambda_context, wait=wait, listener=listener)
        key = context.state["headers"].get("idempotency-key", "").strip()
        agent, settings = self._runner.agent, self._runner.settings
        incoming = read_message(params.message, agent, settings, key)
        if incoming.far and (head := await sending.again(incoming)):
            return head
        incoming = await incoming.read(agent, settings, Uploads(self._runner.bucket, agent.name, owner))
        push = await self._wanted(params, context)
        if not params.message.task_id:
            return await sending.start(incoming, push)
        if push is not None:
            await self._pushing().set(await self._head(context, params.message.task_id), push.config, context)
        return await sending.follow_up(incoming)

    async def _wanted(self, params: SendMessageRequest, context: ServerCallContext) -> Push | None:
        """The push configuration that comes with a message, checked."""
        if not params.configuration.HasField("task_push_notification_config"):
            return None
        config = await self._pushing().checked(params.configuration.task_push_notification_config, "")
        return Push(config, speaks_old(context), address=context.state["address"])

    async def _followed(self, head: Head, context: ServerCallContext, config: Any) -> AsyncGenerator[Event]:
        deadline = Deadline.from_lambda_context(
            context.state["lambda"], reserve_seconds=self._runner.settings.reserve_seconds
        )
        async with shielded(context), contextlib.aclosing(self.streaming.follow(head, deadline)) as events:
            async for event in events:
                yield apply_history_length(event, config) if isinstance(event, Task) else event

    def _pushing(self) -> Pushing:
        if self._push is None:
            raise PushNotificationNotSupportedError
        return self._push

    def _check_streams(self) -> None:
        if not self._runner.settings.streaming:
            raise UnsupportedOperationError(NO_STREAMS)

    async def _head(self, context: ServerCallContext, task_id: str) -> Head:
        head = await self._tasks.read(context.user.user_name, task_id)
        if head is None:
            raise TaskNotFoundError
        return head

    def _shown(self, task: Task, config: Any = None) -> Task:
        return apply_history_length(signed(task, self._runner.bucket), config)
