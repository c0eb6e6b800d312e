"""Adapts the task store to a2a-sdk's `VersionedTaskStore`, for code that is written against the sdk."""

from a2a.server.cluster.task_store import ConcurrentTaskModificationError, StoredTask, VersionedTaskStore
from a2a.server.cluster.version import TaskVersion
from a2a.server.context import ServerCallContext
from a2a.server.events.event_queue import Event
from a2a.types import ListTasksRequest, ListTasksResponse, Task, TaskState
from a2a.utils.proto_utils import to_stream_response

from agentfn.errors import ConflictError
from agentfn.store.task_record import TaskRecord
from agentfn.store.task_store import TaskStore


class SdkTaskStore(VersionedTaskStore):
    """The owner of a task is the call context's user name. Versions count the saves, from 1."""

    def __init__(self, task_store: TaskStore) -> None:
        self._task_store = task_store

    async def save(
        self,
        task: Task,
        *,
        event: Event | None,
        prev: Task | None,
        prev_version: TaskVersion,
        context: ServerCallContext,
    ) -> TaskVersion:
        """As the interface says. A canceled task overwrites any version that is not terminal."""
        try:
            if task.status.state == TaskState.TASK_STATE_CANCELED:
                return await self._cancel(task, event, context)
            if prev_version.is_missing:
                record = TaskRecord(self._task_store.agent, context.user.user_name, task)
                return TaskVersion((await self._task_store.create(record)).version)
            return await self._replace(task, event, prev_version, context)
        except ConflictError as error:
            raise ConcurrentTaskModificationError(task.id) from error

    async def get(self, task_id: str, context: ServerCallContext) -> StoredTask | None:
        record = await self._task_store.read(context.user.user_name, task_id)
        return StoredTask(record.task, TaskVersion(record.version)) if record else None

    async def list(self, params: ListTasksRequest, context: ServerCallContext) -> ListTasksResponse:
        return await self._task_store.list_page(params, context.user.user_name)

    async def delete(self, task_id: str, context: ServerCallContext) -> None:
        record = await self._task_store.read(context.user.user_name, task_id)
        if record is not None:
            await self._task_store.delete(record)

    async def _replace(
        self, task: Task, event: Event | None, prev_version: TaskVersion, context: ServerCallContext
    ) -> TaskVersion:
        record = await self._task_store.read(context.user.user_name, task.id)
        if record is None or TaskVersion(record.version) != prev_version:
            raise ConflictError("the task was saved by somebody else")
        return await self._write(record, task, event)

    async def _cancel(self, task: Task, event: Event | None, context: ServerCallContext) -> TaskVersion:
        while True:
            record = await self._task_store.read(context.user.user_name, task.id)
            if record is None or record.is_terminal:
                raise ConflictError("the task cannot be canceled: it does not exist or has ended")
            try:
                return await self._write(record, task, event)
            except ConflictError:
                continue  # somebody else wrote meanwhile: read again

    async def _write(self, record: TaskRecord, task: Task, event: Event | None) -> TaskVersion:
        events = [to_stream_response(event)] if event is not None else []
        saved = await self._task_store.save(record, task=task, events=events, leased=False)
        return TaskVersion(saved.version)
