"""What a task is told of earlier ones: those of its conversation, and those that its message refers to."""

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
