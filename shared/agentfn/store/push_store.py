"""Who wants to be told what happens to a task, and how far he has been."""

import dataclasses
from dataclasses import dataclass
from typing import Any

from a2a.types import TaskPushNotificationConfig
from google.protobuf.json_format import MessageToJson, Parse

from agentfn.errors import ConflictError
from agentfn.store import table_keys
from agentfn.store.table import Item, item_key
from agentfn.store.task_record import TaskRecord
from agentfn.store.task_store import TaskStore


@dataclass(frozen=True)
class PushSubscription:
    """`old` says that the subscriber speaks protocol 0.3. All up to version `sent` was delivered; `tries` counts the
    failures in a row since, and `failed` says that there were too many. `address` is the agent's URL as the subscriber
    knows it.
    """

    config: TaskPushNotificationConfig
    uses_v0_3: bool = False
    delivered_version: int = 0
    failures: int = 0
    has_failed: bool = False
    agent_url: str = ""

    def to_attributes(self) -> dict[str, Any]:
        return {
            "config": {"S": MessageToJson(self.config, indent=None)},
            "old": {"BOOL": self.uses_v0_3},
            "sent": {"N": str(self.delivered_version)},
            "tries": {"N": str(self.failures)},
            "failed": {"BOOL": self.has_failed},
            "address": {"S": self.agent_url},
        }

    @classmethod
    def from_item(cls, item: Item) -> "PushSubscription":
        return cls(
            config=Parse(item["config"]["S"], TaskPushNotificationConfig()),
            uses_v0_3=item["old"]["BOOL"],
            delivered_version=int(item["sent"]["N"]),
            failures=int(item["tries"]["N"]),
            has_failed=item["failed"]["BOOL"],
            agent_url=item.get("address", {"S": ""})["S"],
        )


class PushStore:
    """The push configurations of one agent's tasks."""

    def __init__(self, task_store: TaskStore) -> None:
        self._task_store = task_store
        self._table = task_store.table

    async def put(self, record: TaskRecord, subscription: PushSubscription) -> None:
        """Sets or replaces it. The head says from then on that its events are to be announced.

        Raises ConflictError where the task is gone.
        """
        flag = {
            "Key": item_key(record.partition_key, table_keys.TASK_SORT_KEY),
            "UpdateExpression": "SET pushes = :true",
            "ConditionExpression": "attribute_exists(pk)",
            "ExpressionAttributeValues": {":true": {"BOOL": True}},
        }
        await self._table.write({"Put": {"Item": subscription_item(record, subscription)}}, {"Update": flag})

    async def list_all(self, record: TaskRecord) -> list[PushSubscription]:
        items = await self._table.query_all(
            KeyConditionExpression="pk = :pk AND begins_with(sk, :push)",
            ExpressionAttributeValues={":pk": {"S": record.partition_key}, ":push": {"S": table_keys.PUSH_PREFIX}},
            ConsistentRead=True,
        )
        return [PushSubscription.from_item(item) for item in items]

    async def get(self, record: TaskRecord, config_id: str) -> PushSubscription | None:
        item = await self._table.get(record.partition_key, table_keys.push_sort_key(config_id))
        return PushSubscription.from_item(item) if item else None

    async def delete(self, record: TaskRecord, config_id: str) -> None:
        await self._table.write(
            {"Delete": {"Key": item_key(record.partition_key, table_keys.push_sort_key(config_id))}}
        )

    async def claim(self, record: TaskRecord, subscription: PushSubscription, until: float) -> bool:
        """Whether this invocation may deliver to it until then: one at a time, so that events keep their order."""
        return await self._update_item(
            record,
            subscription,
            "SET busy_until = :until",
            "attribute_exists(pk) AND (attribute_not_exists(busy_until) OR busy_until < :now)",
            {":until": _number_attribute(until), ":now": _number_attribute(self._task_store.clock())},
        )

    async def save_progress(
        self, record: TaskRecord, subscription: PushSubscription, *, busy_until: float = 0.0
    ) -> bool:
        """How far it is now; False where it was deleted meanwhile."""
        values = {
            f":{name}": value
            for name, value in subscription.to_attributes().items()
            if name in ("sent", "tries", "failed")
        }
        return await self._update_item(
            record,
            subscription,
            "SET sent = :sent, tries = :tries, failed = :failed, busy_until = :until",
            "attribute_exists(pk)",
            {**values, ":until": _number_attribute(busy_until)},
        )

    async def _update_item(
        self, record: TaskRecord, subscription: PushSubscription, change: str, condition: str, values: dict[str, Any]
    ) -> bool:
        update = {
            "Key": item_key(record.partition_key, table_keys.push_sort_key(subscription.config.id)),
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
    """The item of a configuration; it expires with its task."""
    return {
        **item_key(record.partition_key, table_keys.push_sort_key(subscription.config.id)),
        **subscription.to_attributes(),
        "expires": {"N": str(record.expires)},
    }


def with_ids(config: TaskPushNotificationConfig, task_id: str) -> TaskPushNotificationConfig:
    """A copy that names its task, and itself: a task's one nameless configuration has the task's id, as in the sdk."""
    copy = TaskPushNotificationConfig()
    copy.CopyFrom(config)
    copy.task_id, copy.id = task_id, config.id or task_id
    return copy


def mark_delivered(subscription: PushSubscription, version: int) -> PushSubscription:
    return dataclasses.replace(subscription, delivered_version=version, failures=0)


def _number_attribute(value: float) -> dict[str, str]:
    return {"N": str(round(value, 3))}
