"""Accepts a message: parses it, loads its files, and starts its task or continues the task that waits for it."""

from dataclasses import dataclass

from a2a.types import SendMessageRequest
from a2a.utils.errors import PushNotificationNotSupportedError, TaskNotFoundError
from a2a.utils.task import validate_history_length

from agentfn.a2a.inbound_message import parse_message
from agentfn.a2a.media_types import check_accepted_types
from agentfn.a2a.push.push_configs import PushConfigService
from agentfn.a2a.send_message import SendMessage
from agentfn.a2a.task_streams import TaskStreams
from agentfn.a2a.wire.v0_3 import set_empty_history
from agentfn.agent import Agent
from agentfn.call_context import CallContext
from agentfn.files import Bucket, UploadStore
from agentfn.runs.runner import Runner
from agentfn.settings import Settings
from agentfn.store import TaskRecord, TaskStore
from agentfn.store.push_store import PushSubscription


@dataclass(frozen=True)
class MessageAcceptor:
    """Accepts messages. `push_configs` is None if the agent sends no push notifications."""

    agent: Agent
    settings: Settings
    runner: Runner
    task_store: TaskStore
    bucket: Bucket
    push_configs: PushConfigService | None

    async def accept(
        self, params: SendMessageRequest, call: CallContext, streams: TaskStreams | None = None
    ) -> TaskRecord:
        """Returns the task's record. With `streams`, the task runs in the background and is not waited for."""
        validate_history_length(params.configuration)
        set_empty_history(params.configuration, call)
        agent, settings = self.agent, self.settings
        check_accepted_types(params.configuration.accepted_output_modes, agent.output_modes)
        wait = streams is not None or not params.configuration.return_immediately
        sender = SendMessage(self.runner, self.task_store, settings, call, wait=wait, task_streams=streams)
        message = parse_message(params.message, agent, settings, call.idempotency_key)
        if message.has_remote_files and (record := await sender.find_duplicate(message)):
            return record
        uploads = UploadStore(self.bucket, agent.name, call.caller.id)
        message = await message.load_files(agent, settings, uploads)
        push = await self._new_subscription(params, call)
        if not params.message.task_id:
            return await sender.start(message, push)
        if push is not None:
            await self._subscribe(params.message.task_id, push, call)
        return await sender.follow_up(message)

    async def _new_subscription(self, params: SendMessageRequest, call: CallContext) -> PushSubscription | None:
        if not params.configuration.HasField("task_push_notification_config"):
            return None
        if self.push_configs is None:
            raise PushNotificationNotSupportedError
        return await self.push_configs.new_subscription(params.configuration.task_push_notification_config, call)

    async def _subscribe(self, task_id: str, push: PushSubscription, call: CallContext) -> None:
        assert self.push_configs is not None  # it made the subscription
        record = await self.task_store.read(call.caller.id, task_id)
        if record is None:
            raise TaskNotFoundError
        await self.push_configs.set(record, push.config, call)
