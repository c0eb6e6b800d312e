"""The memory of a context: the turns and files of earlier tasks that a new task starts with."""

import dataclasses
from collections.abc import Iterable
from dataclasses import dataclass

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
from agentfn.store import TaskRecord, TaskStore
from agentfn.tools import FileRecord, Origin
from agentfn.tools.workspaces.file_records import unique_file_name

MAX_CONTEXT_TASKS_COUNT = 20  # the newest tasks of the context
MAX_CONTEXT_TURNS_COUNT = 40  # they are written with the new task in one transaction of at most 100 actions
MAX_REFERENCE_TURNS_COUNT = 4  # of each task that a message refers to
REFERENCE_TITLE = "(Of another task, {id}, which the next message refers to:)"
EARLIER_FILES_TITLE = "Files from before this:"


@dataclass(frozen=True)
class ContextMemory:
    """The turns to put before the user's own, and the files that they name: the same objects, with names of this task.

    Files that the agent produced are hidden: the model can open them, and the caller does not get them again.
    """

    turns: tuple[Turn, ...] = ()
    files: tuple[FileRecord, ...] = ()


@dataclass(frozen=True)
class RelatedTasks:
    """Earlier tasks of one owner: those of the same context, newest first, and those that the message refers to."""

    same_context: tuple[TaskRecord, ...] = ()
    referenced: tuple[TaskRecord, ...] = ()

    def to_memory(self, existing_files: Iterable[FileRecord], settings: Settings) -> ContextMemory:
        """At most AGENTFN_MEMORY_CHARS of the context, and AGENTFN_MAX_OUTPUT_CHARS of all referenced tasks together.

        `existing_files` are those that the task already has: their names are taken.
        """
        files = _carry_files([*self.referenced, *self.same_context], existing_files, settings.message.max_files)
        utterances = self._conversation(files, settings.run.memory_chars)
        for record in self.referenced:
            max_chars = settings.tools.max_output_chars // len(self.referenced)
            utterances += _reference_utterances(record, files, max_chars)
        if not utterances:
            return ContextMemory()
        named = {file.name for utterance in utterances for _, file in utterance.files}
        unnamed = [file for file in files.values() if file.name not in named]
        utterances[0] = utterances[0].with_files(EARLIER_FILES_TITLE, unnamed)
        return ContextMemory(tuple(utterance.turn for utterance in utterances), tuple(files.values()))

    def _conversation(self, files: dict[str, FileRecord], max_chars: int) -> list[Utterance]:
        """The context's conversation, oldest first. Tasks before the first truncated one are left out."""
        utterances: list[Utterance] = []
        for record in self.same_context:
            whole = conversation_of(record, files)
            remaining_chars = max_chars - total_chars(utterances)
            part = fit_to_budget(whole, remaining_chars, MAX_CONTEXT_TURNS_COUNT - len(utterances))
            utterances = [*part, *utterances]
            if part != whole:
                break
        return utterances


async def find_related_tasks(
    tasks: TaskStore, owner: str, context_id: str, referenced_ids: Iterable[str]
) -> RelatedTasks:
    """One query for the context's tasks and one read of records; neither is made where nothing is asked for.

    A task that does not exist, or belongs to another owner, is left out.
    """
    in_context = await tasks.find_in_context(owner, context_id, MAX_CONTEXT_TASKS_COUNT) if context_id else []
    referenced = list(dict.fromkeys(referenced_ids))
    found = await tasks.read_many(owner, [*referenced, *in_context])
    records = {record.task.id: record for record in found}
    return RelatedTasks(
        tuple(records[task_id] for task_id in in_context if task_id in records and task_id not in referenced),
        tuple(records[task_id] for task_id in referenced if task_id in records),
    )


def _carry_files(
    task_records: Iterable[TaskRecord], existing_files: Iterable[FileRecord], max_count: int
) -> dict[str, FileRecord]:
    """The files of these tasks as files of a new one, by location: at most `max_count`, attached files first.

    The newest task comes first and keeps its names, also for files that it has from earlier tasks.
    """
    names = {file.name: file for file in existing_files}
    found = [file for record in task_records for file in record.files if "/hidden/" not in file.key]
    carried: dict[str, FileRecord] = {}
    for file in sorted(found, key=lambda each: each.origin != "attached"):
        location = location_of(file)
        if location not in carried and len(carried) < max_count:
            name = unique_file_name(names, file.name, "attached")
            origin: Origin = "attached" if file.origin == "attached" else "hidden"
            names[name] = carried[location] = dataclasses.replace(file, name=name, origin=origin)
    return carried


def _reference_utterances(record: TaskRecord, files: dict[str, FileRecord], max_chars: int) -> list[Utterance]:
    """The end of a referenced task's conversation, under a title. The last utterance is there in any case."""
    start, *rest = fit_to_budget(
        conversation_of(record, files), max(max_chars, 2 * MIN_UTTERANCE_CHARS), MAX_REFERENCE_TURNS_COUNT
    )
    return [
        dataclasses.replace(start, content=f"{REFERENCE_TITLE.format(id=record.task.id)}\n\n{start.content}".strip()),
        *rest,
    ]
