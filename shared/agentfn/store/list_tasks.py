"""Lists the tasks of an owner, newest status first, in pages."""

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
from agentfn.store.payload_codec import PayloadCodec
from agentfn.store.table import Item, Table, item_key
from agentfn.store.task_record import TaskRecord, format_timestamp

MAX_PAGE_BYTES = 3_000_000  # of the tasks of one page; a response of Lambda has 6 MB at most, and JSON is larger
SORT_KEY_PATTERN = re.compile(r"\d{4}-\d\d-\d\dT[\d:.]{15}Z#(.{1,256})")  # as `updated_sort_key` makes it


@dataclass(frozen=True)
class TaskLister:
    """Queries an index for the keys of a page and for the total, then reads the records of the page in one batch."""

    table: Table
    codec: PayloadCodec
    agent: str
    clock: Callable[[], float]

    async def list_page(self, params: ListTasksRequest, owner: str, view: Callable[[Task], Task]) -> ListTasksResponse:
        """As `TaskStore.list_page`. A page of large tasks has fewer of them than the caller asked for."""
        size = params.page_size or DEFAULT_LIST_TASKS_PAGE_SIZE
        items, has_more = await self._query_keys(params, owner, size)
        stored = await self._read_tasks([item["pk"] for item in items], owner)
        items = [item for item in items if item["pk"] in stored] or items[-1:]
        tasks = [view(stored[pk]) for item in items if (pk := item["pk"]) in stored]
        if (count := _fitting_count(tasks)) < len(tasks):
            has_more, items, tasks = True, items[:count], tasks[:count]
        return ListTasksResponse(
            tasks=tasks,
            next_page_token=_encode_page_token(items[-1]["updated"]) if has_more else "",
            page_size=size,
            total_size=await self._count(params, owner),
        )

    async def _query_keys(self, params: ListTasksRequest, owner: str, size: int) -> tuple[list[Item], bool]:
        """The index items of one page, and whether more of them follow."""
        start = {"ExclusiveStartKey": self._parse_page_token(params, owner)} if params.page_token else {}
        items: list[Item] = []
        async for page in self.table.query_pages(**self._build_query(params, owner), **start):
            items += page["Items"]
            if len(items) > size:
                break
        return items[:size], len(items) > size

    async def _count(self, params: ListTasksRequest, owner: str) -> int:
        pages = self.table.query_pages(**self._build_query(params, owner), Select="COUNT")
        return sum([int(page["Count"]) async for page in pages])

    async def _read_tasks(self, partition_keys: list[str], owner: str) -> dict[str, Task]:
        keys = [item_key(pk, table_keys.TASK_SORT_KEY) for pk in partition_keys]
        items = await self.table.batch_get(keys) if keys else []
        records = [TaskRecord.from_item(item, self.agent, owner, self.codec) for item in items]
        return {record.partition_key: record.task for record in records}

    def _build_query(self, params: ListTasksRequest, owner: str) -> dict[str, Any]:
        """The parameters of the query of the index by owner, or by context where the caller names one."""
        index, attribute, partition = "by_owner", "owner_key", table_keys.owner_partition(self.agent, owner)
        if params.context_id:
            index, attribute = "by_context", "context_key"
            partition = table_keys.context_partition(self.agent, owner, params.context_id)
        condition, filters = "#partition = :partition", ["#expires > :now"]
        values: dict[str, Any] = {":partition": partition, ":now": int(self.clock())}
        names = {"#partition": attribute, "#expires": "expires"}
        if params.HasField("status_timestamp_after"):
            condition += " AND updated >= :after"
            values[":after"] = _min_sort_key(params)
        if params.status:
            filters.append("#state = :state")
            names["#state"] = "state"
            values[":state"] = TaskState.Name(params.status)
        return {
            "IndexName": index,
            "KeyConditionExpression": condition,
            "FilterExpression": " AND ".join(filters),
            "ExpressionAttributeNames": names,
            "ExpressionAttributeValues": values,
            "ScanIndexForward": False,
        }

    def _parse_page_token(self, params: ListTasksRequest, owner: str) -> Item:
        """The key that the page before ended with. A task of that key need not exist any more."""
        try:
            after = json.loads(base64.urlsafe_b64decode(params.page_token + "=="))["after"]
            match = SORT_KEY_PATTERN.fullmatch(after)
        except (ValueError, KeyError, TypeError, RecursionError):
            match = None
        if match is None or (params.HasField("status_timestamp_after") and after < _min_sort_key(params)):
            raise InvalidParamsError("the page token is not one that this agent gave out for this list")
        partition = table_keys.task_partition(self.agent, owner, match[1])
        start = {**item_key(partition, table_keys.TASK_SORT_KEY), "updated": after}
        if params.context_id:
            return {**start, "context_key": table_keys.context_partition(self.agent, owner, params.context_id)}
        return {**start, "owner_key": table_keys.owner_partition(self.agent, owner)}


def _min_sort_key(params: ListTasksRequest) -> str:
    return format_timestamp(params.status_timestamp_after.ToDatetime(UTC))


def _fitting_count(tasks: Iterable[Task]) -> int:
    """How many tasks fit into one response, the first one in any case."""
    sizes = itertools.accumulate(task.ByteSize() for task in tasks)
    return max(1, sum(size <= MAX_PAGE_BYTES for size in sizes))


def _encode_page_token(sort_key: str) -> str:
    """A token with a position in the index: a task may get another position, or be deleted, before it comes back."""
    text = json.dumps({"after": sort_key})
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")
