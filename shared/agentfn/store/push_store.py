"""Stores the push subscriptions of tasks, and how far each of them was delivered to."""

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Self

from a2a.types import TaskPushNotificationConfig
from google.protobuf.json_format import MessageToJson, Parse

from agentfn.errors import ConflictError
from agentfn.store import table_keys
from agentfn.store.table import Item, Table, item_key
from agentfn.store.task_record import TaskRecord, seconds_value


@dataclass(frozen=True)
class PushSubscription:
    """A push notification config of a task, with the state of its delivery.

    `uses_v0_3` says that the subscriber speaks protocol 0.3. The events of all versions up to `delivered_version` were
    delivered. `failures` counts the failed attempts in a row since; `has_failed` says that delivery was given up.
    `agent_url` is the agent's URL as the subscriber knows it, empty where it is unknown.
    """

    config: TaskPushNotificationConfig
    uses_v0_3: bool = False
    delivered_version: int = 0
    failures: int = 0
    has_failed: bool = False
    agent_url: str = ""

    def to_attributes(self) -> Item:
        config = {"config": MessageToJson(self.config, indent=None), "old": self.uses_v0_3}
        return {**config, **self.progress_attributes(), "address": self.agent_url}

    def progress_attributes(self) -> Item:
        return {"sent": self.delivered_version, "tries": self.failures, "failed": self.has_failed}

    @classmethod
    def from_item(cls, item: Item) -> Self:
        return cls(
            config=Parse(item["config"], TaskPushNotificationConfig()),
            uses_v0_3=item["old"],
            delivered_version=int(item["sent"]),
            failures=int(item["tries"]),
            has_failed=item["failed"],
            agent_url=item.get("address", ""),
        )


class PushStore:
    """The push subscriptions of one agent's tasks. `clock` gives seconds since 1970."""

    def __init__(self, table: Table, clock: Callable[[], float]) -> None:
        self._table = table
        self._clock = clock

    async def put(self, record: TaskRecord, subscription: PushSubscription) -> None:
        """Adds a subscription or replaces it, and marks the record, so that saves enqueue a push job from then on.

        Raises ConflictError where the task does not exist any more.
        """
        flag = {
            "Key": item_key(record.partition_key, table_keys.TASK_SORT_KEY),
            "UpdateExpression": "SET pushes = :true",
            "ConditionExpression": "attribute_exists(pk)",
            "ExpressionAttributeValues": {":true": True},
        }
        await self._table.write({"Put": {"Item": subscription_item(record, subscription)}}, {"Update": flag})

    async def list_all(self, record: TaskRecord) -> list[PushSubscription]:
        items = await self._table.query_all(
            KeyConditionExpression="pk = :pk AND begins_with(sk, :push)",
            ExpressionAttributeValues={":pk": record.partition_key, ":push": table_keys.PUSH_PREFIX},
            ConsistentRead=True,
        )
        return [PushSubscription.from_item(item) for item in items]

    async def get(self, record: TaskRecord, config_id: str) -> PushSubscription | None:
        item = await self._table.get(record.partition_key, table_keys.push_sort_key(config_id))
        return PushSubscription.from_item(item) if item else None

    async def delete(self, record: TaskRecord, config_id: str) -> None:
        await self._table.write({"Delete": {"Key": _subscription_key(record, config_id)}})

    async def claim(self, record: TaskRecord, subscription: PushSubscription, until: float) -> bool:
        """Reserves the delivery to a subscriber for this invocation until `until`, in seconds since 1970.

        False where another invocation has reserved it: one delivers at a time, so that events keep their order.
        """
        return await self._update_item(
            record,
            subscription,
            "SET busy_until = :until",
            "attribute_exists(pk) AND (attribute_not_exists(busy_until) OR busy_until < :now)",
            {":until": seconds_value(until), ":now": seconds_value(self._clock())},
        )

    async def save_progress(
        self, record: TaskRecord, subscription: PushSubscription, *, busy_until: float = 0.0
    ) -> bool:
        """Saves the state of the delivery. False where the subscription was deleted meanwhile."""
        values = {f":{name}": value for name, value in subscription.progress_attributes().items()}
        return await self._update_item(
            record,
            subscription,
            "SET sent = :sent, tries = :tries, failed = :failed, busy_until = :until",
            "attribute_exists(pk)",
            {**values, ":until": seconds_value(busy_until)},
        )

    async def _update_item(
        self, record: TaskRecord, subscription: PushSubscription, change: str, condition: str, values: dict[str, Any]
    ) -> bool:
        update = {
            "Key": _subscription_key(record, subscription.config.id),
            "UpdateExpression": change,
            "ConditionExpression": condition,
            "ExpressionAttributeValues": values,
        }
        try:
            await self._table.write({"Update": update})
        except ConflictError:
            return False
        return True


def subscription_item(record: TaskRecord, subscription: PushSubscription) -> Item:
    """The item of a subscription; it expires with its task."""
    key = _subscription_key(record, subscription.config.id)
    return {**key, **subscription.to_attributes(), "expires": record.expires}


def with_ids(config: TaskPushNotificationConfig, task_id: str) -> TaskPushNotificationConfig:
    """A copy of the config with the task's id. A config without an id gets the task's id as its own, as in the sdk."""
    copy = TaskPushNotificationConfig()
    copy.CopyFrom(config)
    copy.task_id, copy.id = task_id, config.id or task_id
    return copy


def mark_delivered(subscription: PushSubscription, version: int) -> PushSubscription:
    return dataclasses.replace(subscription, delivered_version=version, failures=0)


def _subscription_key(record: TaskRecord, config_id: str) -> Item:
    return item_key(record.partition_key, table_keys.push_sort_key(config_id))
