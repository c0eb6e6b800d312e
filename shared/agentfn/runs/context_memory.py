"""What a task is told of earlier ones: those of its conversation, and those that its message refers to."""

import asyncio
import dataclasses
from collections.abc import Iterable
from dataclasses import dataclass

from agentfn.errors import StoredDataError
from agentfn.models import Turn
from agentfn.runs.conversation import (
    MIN_UTTERANCE_CHARS,
    Utterance,
    conversation_of,
    fit_to_budget,
    location_of,
    total_chars,
)
from agentfn.settings import Settings
from agentfn.store import TaskRecord, TaskStore, table_keys
from agentfn.store.table import Item, item_key
from agentfn.telemetry import logger
from agentfn.tools import FileRecord, Origin
from agentfn.tools.workspaces.file_records import unique_file_name

MAX_CONTEXT_TASKS_COUNT = 20  # of a conversation: its newest
MAX_CONTEXT_TURNS_COUNT = (
    40  # of a conversation; a new task and what it is told of are one transaction, of 100 actions at most
)
MAX_REFERENCE_TURNS_COUNT = 4  # of each task that a message refers to
REFERENCE_TITLE = "(Of another task, {id}, which the next message refers to:)"
EARLIER_FILES_TITLE = "Files from before this:"


@dataclass(frozen=True)
class ContextMemory:
    """`turns` go before the user's own. `files` are those that they name: the same objects, under names of this task.

    What the agent made is there for the model: it is not handed over once more, and not a file that the user attached.
    """

    turns: tuple[Turn, ...] = ()
    files: tuple[FileRecord, ...] = ()


@dataclass(frozen=True)
class RelatedTasks:
    """Earlier tasks of one owner: those `around` a new one, newest first, and those `referred` to."""

    same_context: tuple[TaskRecord, ...] = ()
    referenced: tuple[TaskRecord, ...] = ()

    def to_memory(self, existing_files: Iterable[FileRecord], settings: Settings) -> ContextMemory:
        """Within AGENTFN_MEMORY_CHARS; tasks that are referred to, within AGENTFN_MAX_OUTPUT_CHARS together.

        `own` are the files that the task has already: their names are taken.
        """
        files = _carry_files([*self.referenced, *self.same_context], existing_files, settings.message.max_files)
        said = self._conversation(files, settings.run.memory_chars)
        for head in self.referenced:
            said += _reference_utterances(head, files, settings.tools.max_output_chars // len(self.referenced))
        if not said:
            return ContextMemory()
        named = {file.name for words in said for _, file in words.files}
        said[0] = said[0].with_files(EARLIER_FILES_TITLE, [file for file in files.values() if file.name not in named])
        return ContextMemory(tuple(words.turn for words in said), tuple(files.values()))

    def _conversation(self, files: dict[str, FileRecord], max_chars: int) -> list[Utterance]:
        """What was said, oldest first. Before a task of which not all is told, nothing is."""
        said: list[Utterance] = []
        for head in self.same_context:
            whole = conversation_of(head, files)
            part = fit_to_budget(whole, max_chars - total_chars(said), MAX_CONTEXT_TURNS_COUNT - len(said))
            said = [*part, *said]
            if part != whole:
                break
        return said


async def find_related_tasks(
    tasks: TaskStore, owner: str, context_id: str, referenced_ids: Iterable[str]
) -> RelatedTasks:
    """One query of an index, which may lag by a moment, and one read of heads; neither where nothing is asked for.

    What is not there, or not the owner's, is left out.
    """
    near = await _find_context_keys(tasks, owner, context_id) if context_id else []
    far = [table_keys.task_partition(tasks.agent, owner, task_id) for task_id in dict.fromkeys(referenced_ids)]
    wanted = [item_key(pk, table_keys.TASK_SORT_KEY) for pk in dict.fromkeys([*far, *near])]
    items = await tasks.table.batch_get(wanted) if wanted else []
    heads = {head.partition_key: head for head in await asyncio.to_thread(_read_records, tasks, owner, items)}
    return RelatedTasks(
        tuple(heads[pk] for pk in near if pk in heads and pk not in far), tuple(heads[pk] for pk in far if pk in heads)
    )


async def _find_context_keys(tasks: TaskStore, owner: str, context_id: str) -> list[str]:
    page = await tasks.table.query_page(
        IndexName="by_context",
        KeyConditionExpression="context_key = :context",
        ExpressionAttributeValues={":context": {"S": table_keys.context_partition(tasks.agent, owner, context_id)}},
        ScanIndexForward=False,
        Limit=MAX_CONTEXT_TASKS_COUNT,
    )
    return [item["pk"]["S"] for item in page["Items"]]


def _read_records(tasks: TaskStore, owner: str, items: Iterable[Item]) -> list[TaskRecord]:
    """Those that have not expired. One that cannot be read any more is as good as expired. Blocks."""
    heads = []
    for item in items:
        try:
            head = TaskRecord.from_item(item, tasks.agent, owner, tasks.codec)
        except StoredDataError as error:
            logger.warning("an earlier task is not remembered: %s", error)
            continue
        if head.expires > tasks.clock():
            heads.append(head)
    return heads


def _carry_files(
    task_records: Iterable[TaskRecord], existing_files: Iterable[FileRecord], max_count: int
) -> dict[str, FileRecord]:
    """The files of these tasks, by their place, as another task may have them: first those that users attached.

    The newest task comes first, and gets the names that it had, also for what it had from those before it.
    """
    names = {record.name: record for record in existing_files}
    found = [record for head in task_records for record in head.files if "/hidden/" not in record.key]
    carried: dict[str, FileRecord] = {}
    for record in sorted(found, key=lambda file: file.origin != "attached"):
        place = location_of(record)
        if place not in carried and len(carried) < max_count:
            name = unique_file_name(names, record.name, "attached")
            origin: Origin = "attached" if record.origin == "attached" else "hidden"
            names[name] = carried[place] = dataclasses.replace(record, name=name, origin=origin)
    return carried


def _reference_utterances(record: TaskRecord, files: dict[str, FileRecord], max_chars: int) -> list[Utterance]:
    """What was said in a task that the message refers to. The last of it is told in any case."""
    start, *rest = fit_to_budget(
        conversation_of(record, files), max(max_chars, 2 * MIN_UTTERANCE_CHARS), MAX_REFERENCE_TURNS_COUNT
    )
    return [
        dataclasses.replace(start, content=f"{REFERENCE_TITLE.format(id=record.task.id)}\n\n{start.content}".strip()),
        *rest,
    ]
