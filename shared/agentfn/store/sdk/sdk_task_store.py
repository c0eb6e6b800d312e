"""The tasks behind a2a-sdk's own interface, for code that is written against the sdk."""

from a2a.server.cluster.task_store import ConcurrentTaskModificationError, StoredTask, VersionedTaskStore
from a2a.server.cluster.version import TaskVersion
from a2a.server.context import ServerCallContext
from a2a.server.events.event_queue import Event
from a2a.types import ListTasksRequest, ListTasksResponse, Task, TaskState
from a2a.utils.proto_utils import to_stream_response

from agentfn.errors import ConflictError
from agentfn.store.list_tasks import TaskLister
from agentfn.store.task_record import TaskRecord
from agentfn.store.task_store import TaskStore


class SdkTaskStore(VersionedTaskStore):
    """The owner is the call context's user name. Versions are counters of saves, from 1."""

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
        """As the interface says; a cancel overwrites whatever is not terminal, without a version."""
        try:
            if task.status.state == TaskState.TASK_STATE_CANCELED:
                return await self._cancel(task, event, context)
            if prev_version.is_missing:
                created = await self._task_store.create(
                    TaskRecord(self._task_store.agent, context.user.user_name, task)
                )
                return TaskVersion(created.version)
            return await self._replace(task, event, prev_version, context)
        except ConflictError as error:
            raise ConcurrentTaskModificationError(task.id) from error

    async def get(self, task_id: str, context: ServerCallContext) -> StoredTask | None:
        head = await self._task_store.read(context.user.user_name, task_id)
        return StoredTask(head.task, TaskVersion(head.version)) if head else None

    async def list(self, params: ListTasksRequest, context: ServerCallContext) -> ListTasksResponse:
        return await TaskLister(self._task_store).list_page(params, context.user.user_name)

    async def delete(self, task_id: str, context: ServerCallContext) -> None:
        head = await self._task_store.read(context.user.user_name, task_id)
        if head is not None:
            await self._task_store.delete(head)

    async def _replace(
        self, task: Task, event: Event | None, prev_version: TaskVersion, context: ServerCallContext
    ) -> TaskVersion:
        head = await self._task_store.read(context.user.user_name, task.id)
        if head is None or TaskVersion(head.version) != prev_version:
            raise ConflictError("the stored version is another one")
        return await self._write(head, task, event)

    async def _cancel(self, task: Task, event: Event | None, context: ServerCallContext) -> TaskVersion:
        while True:
            head = await self._task_store.read(context.user.user_name, task.id)
            if head is None or head.is_terminal:
                raise ConflictError("there is nothing to cancel")
            try:
                return await self._write(head, task, event)
            except ConflictError:
                continue  # somebody wrote in between: look at what is there now

    async def _write(self, record: TaskRecord, task: Task, event: Event | None) -> TaskVersion:
        events = [to_stream_response(event)] if event is not None else []
        saved = await self._task_store.save(record, task=task, events=events, held=False)
        return TaskVersion(saved.version)
