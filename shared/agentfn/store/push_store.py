"""Who wants to be told what happens to a task, and how far he has been."""

import dataclasses
from dataclasses import dataclass
from typing import Any

from a2a.types import TaskPushNotificationConfig
from google.protobuf.json_format import MessageToJson, Parse

from agentfn.errors import ConflictError
from agentfn.store import table_keys
from agentfn.store.table import Item, key
from agentfn.store.task_record import Head
from agentfn.store.task_store import Tasks


@dataclass(frozen=True)
class Push:
    """`old` says that the subscriber speaks protocol 0.3. All up to version `sent` was delivered; `tries` counts the
    failures in a row since, and `failed` says that there were too many. `address` is the agent's URL as the subscriber
    knows it.
    """

    config: TaskPushNotificationConfig
    old: bool = False
    sent: int = 0
    tries: int = 0
    failed: bool = False
    address: str = ""

    def attributes(self) -> dict[str, Any]:
        return {
            "config": {"S": MessageToJson(self.config, indent=None)},
            "old": {"BOOL": self.old},
            "sent": {"N": str(self.sent)},
            "tries": {"N": str(self.tries)},
            "failed": {"BOOL": self.failed},
            "address": {"S": self.address},
        }

    @classmethod
    def read(cls, item: Item) -> "Push":
        return cls(
            config=Parse(item["config"]["S"], TaskPushNotificationConfig()),
            old=item["old"]["BOOL"],
            sent=int(item["sent"]["N"]),
            tries=int(item["tries"]["N"]),
            failed=item["failed"]["BOOL"],
            address=item.get("address", {"S": ""})["S"],
        )


class Pushes:
    """The push configurations of one agent's tasks."""

    def __init__(self, tasks: Tasks) -> None:
        self._tasks = tasks
        self._table = tasks.table

    async def put(self, head: Head, push: Push) -> None:
        """Sets or replaces it. The head says from then on that its events are to be announced.

        Raises ConflictError where the task is gone.
        """
        flag = {
            "Key": key(head.key, table_keys.HEAD),
            "UpdateExpression": "SET pushes = :true",
            "ConditionExpression": "attribute_exists(pk)",
            "ExpressionAttributeValues": {":true": {"BOOL": True}},
        }
        await self._table.write({"Put": {"Item": item_of(head, push)}}, {"Update": flag})

    async def all(self, head: Head) -> list[Push]:
        items = await self._table.query_all(
            KeyConditionExpression="pk = :pk AND begins_with(sk, :push)",
            ExpressionAttributeValues={":pk": {"S": head.key}, ":push": {"S": table_keys.PUSH}},
            ConsistentRead=True,
        )
        return [Push.read(item) for item in items]

    async def get(self, head: Head, config_id: str) -> Push | None:
        item = await self._table.get(head.key, table_keys.push(config_id))
        return Push.read(item) if item else None

    async def delete(self, head: Head, config_id: str) -> None:
        await self._table.write({"Delete": {"Key": key(head.key, table_keys.push(config_id))}})

    async def claim(self, head: Head, push: Push, until: float) -> bool:
        """Whether this invocation may deliver to it until then: one at a time, so that events keep their order."""
        return await self._update(
            head,
            push,
            "SET busy_until = :until",
            "attribute_exists(pk) AND (attribute_not_exists(busy_until) OR busy_until < :now)",
            {":until": _number(until), ":now": _number(self._tasks.clock())},
        )

    async def keep(self, head: Head, push: Push, *, busy_until: float = 0.0) -> bool:
        """How far it is now; False where it was deleted meanwhile."""
        values = {f":{name}": value for name, value in push.attributes().items() if name in ("sent", "tries", "failed")}
        return await self._update(
            head,
            push,
            "SET sent = :sent, tries = :tries, failed = :failed, busy_until = :until",
            "attribute_exists(pk)",
            {**values, ":until": _number(busy_until)},
        )

    async def _update(self, head: Head, push: Push, change: str, condition: str, values: dict[str, Any]) -> bool:
        update = {
            "Key": key(head.key, table_keys.push(push.config.id)),
            "UpdateExpression": change,
            "ConditionExpression": condition,
            "ExpressionAttributeValues": values,
        }
        try:
            await self._table.write({"Update": update})
        except ConflictError:
            return False
        return True


def item_of(head: Head, push: Push) -> Item:
    """The item of a configuration; it expires with its task."""
    return {
        **key(head.key, table_keys.push(push.config.id)),
        **push.attributes(),
        "expires": {"N": str(head.expires)},
    }


def named(config: TaskPushNotificationConfig, task_id: str) -> TaskPushNotificationConfig:
    """A copy that names its task, and itself: a task's one nameless configuration has the task's id, as in the sdk."""
    copy = TaskPushNotificationConfig()
    copy.CopyFrom(config)
    copy.task_id, copy.id = task_id, config.id or task_id
    return copy


def delivered(push: Push, version: int) -> Push:
    return dataclasses.replace(push, sent=version, tries=0)


def _number(value: float) -> dict[str, str]:
    return {"N": str(round(value, 3))}
