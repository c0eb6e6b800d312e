"""Every method of the protocol, for both dialects and both bindings: the sdk's routes end here.

The sdk's own handler is not used: its producers run in the background of a living process, and a Lambda function has
none.
"""

import asyncio
import dataclasses
from collections.abc import AsyncGenerator
from typing import Any
from uuid import uuid4

from a2a.server.context import ServerCallContext
from a2a.server.events.event_queue import Event
from a2a.server.request_handlers.request_handler import RequestHandler, validate_request_params
from a2a.types import (
    AgentCard,
    CancelTaskRequest,
    GetExtendedAgentCardRequest,
    GetTaskRequest,
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
    InvalidParamsError,
    PushNotificationNotSupportedError,
    TaskNotCancelableError,
    TaskNotFoundError,
    UnsupportedOperationError,
)
from a2a.utils.task import apply_history_length, validate_history_length, validate_page_size
from botocore.exceptions import BotoCoreError, ClientError

from agentfn.a2a.incoming import Incoming, read_message
from agentfn.a2a.outgoing import signed
from agentfn.a2a.shield import shielded
from agentfn.deadline import Deadline
from agentfn.errors import ConflictError
from agentfn.files import TaskFiles
from agentfn.models import Turn
from agentfn.outcome import with_status
from agentfn.runner import Runner
from agentfn.store import Head, Listing, MessageRecord
from agentfn.store.events import status_event

INSURANCE_SLACK = 3.0  # seconds after a lease's end that its insurance comes
FINISHED = "task {id} has ended and takes no more messages; start a new task with the same contextId"
BUSY = "task {id} is being worked on; send a follow-up when it asks for input, or start a new task"


class AgentRequests(RequestHandler):
    def __init__(self, runner: Runner) -> None:
        self._runner = runner
        self._tasks = runner.tasks
        self._settings = runner.settings

    @validate_request_params
    async def on_message_send(self, params: SendMessageRequest, context: ServerCallContext) -> Task | Message:
        """Answers at once where `return_immediately` says so, else when the task ends, waits, or time is up."""
        async with shielded(context):
            validate_history_length(params.configuration)
            incoming = read_message(params.message, self._runner.agent, self._settings)
            owner = context.user.user_name
            if params.message.task_id:
                head = await self._follow_up(incoming, owner, params, context)
            else:
                head = await self._start(incoming, owner, params, context)
            return self._shown(head.task, params.configuration)

    @validate_request_params
    async def on_get_task(self, params: GetTaskRequest, context: ServerCallContext) -> Task | None:
        async with shielded(context):
            validate_history_length(params)
            return self._shown((await self._head(context, params.id)).task, params)

    @validate_request_params
    async def on_list_tasks(self, params: ListTasksRequest, context: ServerCallContext) -> ListTasksResponse:
        async with shielded(context):
            validate_history_length(params)
            if params.HasField("page_size"):
                validate_page_size(params.page_size)
            page = await Listing(self._tasks).page(params, context.user.user_name)
            shown = [self._shown(task, params) for task in page.tasks]
            del page.tasks[:]
            for task in shown:
                if not params.include_artifacts:
                    task.ClearField("artifacts")
                page.tasks.append(task)
            return page

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

    async def on_message_send_stream(
        self, params: SendMessageRequest, context: ServerCallContext
    ) -> AsyncGenerator[Event]:
        raise UnsupportedOperationError("this agent does not stream; send the message and poll the task")
        yield  # makes it the generator that the interface asks for

    async def on_subscribe_to_task(
        self, params: SubscribeToTaskRequest, context: ServerCallContext
    ) -> AsyncGenerator[Event]:
        raise UnsupportedOperationError("this agent does not stream; poll the task")
        yield

    async def on_create_task_push_notification_config(
        self, params: TaskPushNotificationConfig, context: ServerCallContext
    ) -> TaskPushNotificationConfig:
        raise PushNotificationNotSupportedError

    async def on_get_task_push_notification_config(self, params: Any, context: ServerCallContext) -> Any:
        raise PushNotificationNotSupportedError

    async def on_list_task_push_notification_configs(self, params: Any, context: ServerCallContext) -> Any:
        raise PushNotificationNotSupportedError

    async def on_delete_task_push_notification_config(self, params: Any, context: ServerCallContext) -> None:
        raise PushNotificationNotSupportedError

    async def on_get_extended_agent_card(
        self, params: GetExtendedAgentCardRequest, context: ServerCallContext
    ) -> AgentCard:
        raise UnsupportedOperationError("this agent has no extended card")

    async def _start(
        self, incoming: Incoming, owner: str, params: SendMessageRequest, context: ServerCallContext
    ) -> Head:
        """Insurance first, then the task: a message for a task that never came to be is a no-op."""
        deadline = self._deadline(context)
        wait = not params.configuration.return_immediately
        task = Task(id=str(uuid4()), context_id=incoming.message.context_id or str(uuid4()))
        head = Head(self._tasks.agent, owner, task, skill=incoming.skill)
        head = dataclasses.replace(head, **await self._received(incoming, head, wait))
        turn = Turn("user", incoming.prompt(head.files))
        lease = self._runner.lease(deadline).length()
        await self._runner.queue.send(owner, task.id, lease + INSURANCE_SLACK if wait else 0.0)
        held: dict[str, Any] = {"run": 1, "idle": 1, "held": True} if wait else {}
        head = dataclasses.replace(head, lease_end=self._tasks.clock() + (lease if wait else 0.0), **held)
        record = MessageRecord(incoming.message.message_id, task.id, incoming.digest)
        try:
            head = await self._tasks.create(head, record, [turn])
        except ConflictError:
            return await self._same_message(owner, record)
        return await self._run_here(head, [turn], deadline) if wait else head

    async def _follow_up(
        self, incoming: Incoming, owner: str, params: SendMessageRequest, context: ServerCallContext
    ) -> Head:
        """The answer to a task that waits: it goes on with the same transcript."""
        deadline = self._deadline(context)
        wait = not params.configuration.return_immediately
        loaded = await self._tasks.load(owner, incoming.message.task_id)
        if loaded is None:
            raise TaskNotFoundError
        head, turns = loaded
        record = MessageRecord(incoming.message.message_id, head.task.id, incoming.digest)
        if not head.waiting and await self._tasks.message(owner, record.message_id):
            return await self._same_message(owner, record)
        self._check_follow_up(head, incoming)
        received = await self._received(incoming, head, wait)
        turn = Turn("user", incoming.prompt(received["files"][len(head.files) :]))
        lease = self._runner.lease(deadline).length()
        await self._runner.queue.send(owner, head.task.id, lease + INSURANCE_SLACK if wait else 0.0)
        events = [status_event(received["task"])]
        held: dict[str, Any] = {"held": wait, "lease_end": self._tasks.clock() + (lease if wait else 0.0)}
        if wait:
            held |= {"run": head.run + 1}
        try:
            head = await self._tasks.save(head, turns=[turn], events=events, message=record, **received, **held)
        except ConflictError:
            return await self._same_message(owner, record)
        return await self._run_here(head, [*turns, turn], deadline) if wait else head

    async def _run_here(self, head: Head, turns: list[Turn], deadline: Deadline) -> Head:
        """The task is accepted: whatever happens to this run, its insurance brings another."""
        try:
            return await self._runner.run(head, turns, deadline)
        except (BotoCoreError, ClientError):
            return head

    async def _received(self, incoming: Incoming, head: Head, wait: bool) -> dict[str, Any]:
        """The task with the message in its history, and its files stored. Files that no task comes to name expire."""
        records = await asyncio.to_thread(self._attach, incoming, head)
        new = records[len(head.files) :]
        state = TaskState.TASK_STATE_WORKING if wait else TaskState.TASK_STATE_SUBMITTED
        task = with_status(head.task, state)
        if head.task.status.HasField("message"):
            task.history.append(head.task.status.message)
        task.history.append(incoming.stored(task.id, task.context_id, new))
        return {"task": task, "files": records}

    def _attach(self, incoming: Incoming, head: Head) -> Any:
        if not incoming.files:
            return head.files
        with TaskFiles(self._runner.bucket, head.prefix, head.files) as files:
            for file in incoming.files:
                files.attach(file)
            return files.records

    async def _same_message(self, owner: str, record: MessageRecord) -> Head:
        """The task that this message id went to before. Raises InvalidParamsError for another message of that id."""
        known = await self._tasks.message(owner, record.message_id)
        if known is None:
            raise UnsupportedOperationError(BUSY.format(id=record.task_id))
        if known.digest != record.digest:
            raise InvalidParamsError("message_id was used before, for another message; give each message its own")
        head = await self._tasks.read(owner, known.task_id)
        if head is None:
            raise TaskNotFoundError
        return head

    def _check_follow_up(self, head: Head, incoming: Incoming) -> None:
        context_id = incoming.message.context_id
        if context_id and context_id != head.task.context_id:
            raise InvalidParamsError(f"task {head.task.id} belongs to another context than {context_id}")
        if head.terminal:
            raise UnsupportedOperationError(FINISHED.format(id=head.task.id))
        if not head.waiting:
            raise UnsupportedOperationError(BUSY.format(id=head.task.id))

    async def _head(self, context: ServerCallContext, task_id: str) -> Head:
        head = await self._tasks.read(context.user.user_name, task_id)
        if head is None:
            raise TaskNotFoundError
        return head

    def _deadline(self, context: ServerCallContext) -> Deadline:
        """The front door answers 504 at its limit, whatever the function still has."""
        settings = self._settings
        return Deadline.of(context.state["lambda"], reserve=settings.reserve_seconds, cap=settings.request_seconds)

    def _shown(self, task: Task, config: Any = None) -> Task:
        return apply_history_length(signed(task, self._runner.bucket), config)
