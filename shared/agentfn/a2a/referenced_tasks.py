"""Loads the tasks that a message refers to, and those of its context."""

from collections.abc import Sequence

from a2a.types import Message
from a2a.utils.errors import InvalidParamsError

from agentfn.a2a.inbound_message import MAX_ID_CHARS
from agentfn.runs.context_memory import RelatedTasks, find_related_tasks
from agentfn.runs.engine import Engine
from agentfn.settings import Settings
from agentfn.store import TaskStore

MAX_REFERENCE_COUNT = 10
REFERENCE_NOT_FOUND = "reference_task_ids: there is no such task: {id}"


async def load_related_tasks(
    task_store: TaskStore, owner: str, message: Message, engine: Engine, settings: Settings
) -> RelatedTasks:
    """Returns the referenced tasks and, for a new task, the others of its context. None for an executor.

    Raises InvalidParamsError if a task does not exist or belongs to another caller; the text does not tell which.
    """
    _check_reference_ids(message.reference_task_ids)
    if not engine.reads_transcript:
        return RelatedTasks()
    context_id = message.context_id if settings.run.memory_chars and not message.task_id else ""
    referenced_ids = [task_id for task_id in message.reference_task_ids if task_id != message.task_id or not task_id]
    related = await find_related_tasks(task_store, owner, context_id, referenced_ids)
    found_ids = {record.task.id for record in related.referenced}
    for task_id in referenced_ids:
        if task_id not in found_ids:
            raise InvalidParamsError(REFERENCE_NOT_FOUND.format(id=task_id))
    return related


def _check_reference_ids(ids: Sequence[str]) -> None:
    if len(ids) > MAX_REFERENCE_COUNT:
        raise InvalidParamsError(f"reference_task_ids has {len(ids)} ids; {MAX_REFERENCE_COUNT} are allowed")
    for task_id in ids:
        if len(task_id) > MAX_ID_CHARS:
            raise InvalidParamsError(
                f"reference_task_ids has an id of {len(task_id)} characters; {MAX_ID_CHARS} are allowed"
            )
