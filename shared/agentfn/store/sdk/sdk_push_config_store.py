"""Adapts the push store to a2a-sdk's `PushNotificationConfigStore`, for code that is written against the sdk."""

from a2a.server.context import ServerCallContext
from a2a.server.tasks.push_notification_config_store import PushNotificationConfigStore
from a2a.types import TaskPushNotificationConfig
from a2a.utils.errors import TaskNotFoundError

from agentfn.errors import ConflictError
from agentfn.store.push_store import PushSubscription, with_ids
from agentfn.store.task_store import TaskStore


class SdkPushConfigStore(PushNotificationConfigStore):
    """The owner of a task is the call context's user name.

    `get_info_for_dispatch` reads the tasks of `dispatch_owner`: the sdk passes it a task's id alone, and the store also
    needs the owner.
    """

    def __init__(self, task_store: TaskStore, dispatch_owner: str) -> None:
        self._task_store = task_store
        self._push_store = task_store.push_store
        self._dispatch_owner = dispatch_owner

    async def set_info(
        self, task_id: str, notification_config: TaskPushNotificationConfig, context: ServerCallContext
    ) -> TaskPushNotificationConfig:
        """Adds a config or replaces the one with its id. Events of later saves are delivered to it.

        Raises TaskNotFoundError where the caller has no such task.
        """
        record = await self._task_store.read(context.user.user_name, task_id)
        if record is None:
            raise TaskNotFoundError
        config = with_ids(notification_config, task_id)
        try:
            await self._push_store.put(record, PushSubscription(config, delivered_version=record.version))
        except ConflictError:
            raise TaskNotFoundError from None
        return config

    async def get_info(self, task_id: str, context: ServerCallContext) -> list[TaskPushNotificationConfig]:
        """The configs of the caller's task; none where the caller has no such task."""
        return await self._list_configs(context.user.user_name, task_id)

    async def get_info_for_dispatch(self, task_id: str) -> list[TaskPushNotificationConfig]:
        return await self._list_configs(self._dispatch_owner, task_id)

    async def delete_info(self, task_id: str, context: ServerCallContext, config_id: str | None = None) -> None:
        """Deletes one config of the caller's task, or all of them where `config_id` is None."""
        record = await self._task_store.read(context.user.user_name, task_id)
        if record is None:
            return
        subscriptions = await self._push_store.list_all(record)
        for subscription in subscriptions:
            if config_id in (None, subscription.config.id):
                await self._push_store.delete(record, subscription.config.id)

    async def _list_configs(self, owner: str, task_id: str) -> list[TaskPushNotificationConfig]:
        record = await self._task_store.read(owner, task_id)
        subscriptions = await self._push_store.list_all(record) if record else []
        return [subscription.config for subscription in subscriptions]
