"""The list of an owner's tasks, newest status first."""

import base64
import itertools
import json
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import UTC
from typing import Any

from a2a.types import ListTasksRequest, ListTasksResponse, Task, TaskState
from a2a.utils.constants import DEFAULT_LIST_TASKS_PAGE_SIZE
from a2a.utils.errors import InvalidParamsError

from agentfn.store import table_keys
from agentfn.store.table import Item, item_key
from agentfn.store.task_record import TaskRecord, format_timestamp
from agentfn.store.task_store import TaskStore

MAX_PAGE_BYTES = 3_000_000  # bytes of the tasks of one page; Lambda's answer may have 6 MB, of JSON
SORT_KEY_PATTERN = re.compile(r"\d{4}-\d\d-\d\dT[\d:.]{15}Z#(.{1,256})")  # as `updated` makes it


@dataclass(frozen=True)
class TaskLister:
    """Reads an index for the page's keys and for the total, then the heads of the page in one batch."""

    task_store: TaskStore

    async def list_page(
        self, params: ListTasksRequest, owner: str, view: Callable[[Task], Task] = lambda task: task
    ) -> ListTasksResponse:
        """Of each task what is to be `shown`. A page of much ends before it has as many as were asked for.

        Raises InvalidParamsError for a page token that is none of ours.
        """
        size = params.page_size or DEFAULT_LIST_TASKS_PAGE_SIZE
        found, more = await self._query_keys(params, owner, size)
        heads = await self._read_tasks([item["pk"]["S"] for item in found], owner)
        found = [item for item in found if item["pk"]["S"] in heads] or found[-1:]
        tasks = [view(heads[pk]) for item in found if (pk := item["pk"]["S"]) in heads]
        if (most := _fitting_count(tasks)) < len(tasks):
            more, found, tasks = True, found[:most], tasks[:most]
        return ListTasksResponse(
            tasks=tasks,
            next_page_token=_encode_page_token(found[-1]["updated"]["S"]) if more else "",
            page_size=size,
            total_size=await self._count(params, owner),
        )

    async def _query_keys(self, params: ListTasksRequest, owner: str, size: int) -> tuple[list[Item], bool]:
        """The index's items of one page, and whether there are more behind it."""
        query = self._build_query(params, owner)
        start = self._parse_page_token(params, owner) if params.page_token else None
        found: list[Item] = []
        while True:
            page = await self.task_store.table.query_page(**query, **({"ExclusiveStartKey": start} if start else {}))
            found += page["Items"]
            start = page.get("LastEvaluatedKey")
            if len(found) > size or start is None:
                return found[:size], len(found) > size

    async def _count(self, params: ListTasksRequest, owner: str) -> int:
        query = {**self._build_query(params, owner), "Select": "COUNT"}
        total = 0
        start: Any = None
        while True:
            page = await self.task_store.table.query_page(**query, **({"ExclusiveStartKey": start} if start else {}))
            total += int(page["Count"])
            start = page.get("LastEvaluatedKey")
            if start is None:
                return total

    async def _read_tasks(self, partition_keys: list[str], owner: str) -> dict[str, Task]:
        items = (
            await self.task_store.table.batch_get([item_key(pk, table_keys.TASK_SORT_KEY) for pk in partition_keys])
            if partition_keys
            else []
        )
        read = [TaskRecord.from_item(item, self.task_store.agent, owner, self.task_store.codec) for item in items]
        return {head.partition_key: head.task for head in read}

    def _build_query(self, params: ListTasksRequest, owner: str) -> dict[str, Any]:
        agent = self.task_store.agent
        name, partition = ("by_owner", table_keys.owner_partition(agent, owner))
        if params.context_id:
            name, partition = ("by_context", table_keys.context_partition(agent, owner, params.context_id))
        attribute = "owner_key" if name == "by_owner" else "context_key"
        condition, filters = "#partition = :partition", ["#expires > :now"]
        values: dict[str, Any] = {":partition": {"S": partition}, ":now": {"N": str(int(self.task_store.clock()))}}
        names = {"#partition": attribute, "#expires": "expires"}
        if params.HasField("status_timestamp_after"):
            condition += " AND updated >= :after"
            values[":after"] = {"S": _min_sort_key(params)}
        if params.status:
            filters.append("#state = :state")
            names["#state"] = "state"
            values[":state"] = {"S": TaskState.Name(params.status)}
        return {
            "IndexName": name,
            "KeyConditionExpression": condition,
            "FilterExpression": " AND ".join(filters),
            "ExpressionAttributeNames": names,
            "ExpressionAttributeValues": values,
            "ScanIndexForward": False,
        }

    def _parse_page_token(self, params: ListTasksRequest, owner: str) -> dict[str, Any]:
        """Where the page before ended. The token names a place in the order, not a task that must still be there."""
        try:
            after = json.loads(base64.urlsafe_b64decode(params.page_token + "=="))["after"]
            place = SORT_KEY_PATTERN.fullmatch(after)
        except (ValueError, KeyError, TypeError, RecursionError):
            place = None
        if place is None or (params.HasField("status_timestamp_after") and after < _min_sort_key(params)):
            raise InvalidParamsError("the page token is not one that this agent gave out for this list")
        agent = self.task_store.agent
        start = {
            **item_key(table_keys.task_partition(agent, owner, place[1]), table_keys.TASK_SORT_KEY),
            "updated": {"S": after},
        }
        if params.context_id:
            return {**start, "context_key": {"S": table_keys.context_partition(agent, owner, params.context_id)}}
        return {**start, "owner_key": {"S": table_keys.owner_partition(agent, owner)}}


def _min_sort_key(params: ListTasksRequest) -> str:
    return format_timestamp(params.status_timestamp_after.ToDatetime(UTC))


def _fitting_count(tasks: Iterable[Task]) -> int:
    """How many of them one answer holds: a page ends early where it would be too large, but not before its first."""
    sizes = itertools.accumulate(task.ByteSize() for task in tasks)
    return max(1, sum(size <= MAX_PAGE_BYTES for size in sizes))


def _encode_page_token(sort_key: str) -> str:
    """The place in the index, not the task: that may have moved up, or gone, before the token comes back."""
    text = json.dumps({"after": sort_key})
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")
