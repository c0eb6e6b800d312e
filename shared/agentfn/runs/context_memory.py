"""What a task is told of earlier ones: those of its conversation, and those that its message refers to."""

import asyncio
import dataclasses
from collections.abc import Iterable
from dataclasses import dataclass

from agentfn.errors import StorageError
from agentfn.models import Turn
from agentfn.runs.conversation import LEAST, Words, fitted, place_of, said_in, size_of
from agentfn.settings import Settings
from agentfn.store import Head, Tasks, keys
from agentfn.store.table import Item, key
from agentfn.telemetry import logger
from agentfn.tools import FileRecord, Origin
from agentfn.tools.workspaces.file_records import free_name

TASKS = 20  # of a conversation: its newest
TURNS = 40  # of a conversation; a new task and what it is told of are one transaction, of 100 actions at most
REFERRED_TURNS = 4  # of each task that a message refers to
REFERRED = "(Of another task, {id}, which the next message refers to:)"
BEFORE = "Files from before this:"


@dataclass(frozen=True)
class Memory:
    """`turns` go before the user's own. `files` are those that they name: the same objects, under names of this task.

    What the agent made is there for the model: it is not handed over once more, and not a file that the user attached.
    """

    turns: tuple[Turn, ...] = ()
    files: tuple[FileRecord, ...] = ()


@dataclass(frozen=True)
class Earlier:
    """Earlier tasks of one owner: those `around` a new one, newest first, and those `referred` to."""

    around: tuple[Head, ...] = ()
    referred: tuple[Head, ...] = ()

    def told(self, own: Iterable[FileRecord], settings: Settings) -> Memory:
        """Within AGENTFN_MEMORY_CHARS; tasks that are referred to, within AGENTFN_MAX_OUTPUT_CHARS together.

        `own` are the files that the task has already: their names are taken.
        """
        files = _carried([*self.referred, *self.around], own, settings.max_files)
        said = self._conversation(files, settings.memory_chars)
        for head in self.referred:
            said += _reference(head, files, settings.max_output_chars // len(self.referred))
        if not said:
            return Memory()
        named = {file.name for words in said for _, file in words.files}
        said[0] = said[0].beside(BEFORE, [file for file in files.values() if file.name not in named])
        return Memory(tuple(words.turn for words in said), tuple(files.values()))

    def _conversation(self, files: dict[str, FileRecord], room: int) -> list[Words]:
        """What was said, oldest first. Before a task of which not all is told, nothing is."""
        said: list[Words] = []
        for head in self.around:
            whole = said_in(head, files)
            part = fitted(whole, room - size_of(said), TURNS - len(said))
            said = [*part, *said]
            if part != whole:
                break
        return said


async def find_earlier(tasks: Tasks, owner: str, context_id: str, referred: Iterable[str]) -> Earlier:
    """One query of an index, which may lag by a moment, and one read of heads; neither where nothing is asked for.

    What is not there, or not the owner's, is left out.
    """
    near = await _in_context(tasks, owner, context_id) if context_id else []
    far = [keys.task(tasks.agent, owner, task_id) for task_id in dict.fromkeys(referred)]
    wanted = [key(pk, keys.HEAD) for pk in dict.fromkeys([*far, *near])]
    items = await tasks.table.get_all(wanted) if wanted else []
    heads = {head.key: head for head in await asyncio.to_thread(_read, tasks, owner, items)}
    return Earlier(
        tuple(heads[pk] for pk in near if pk in heads and pk not in far), tuple(heads[pk] for pk in far if pk in heads)
    )


async def _in_context(tasks: Tasks, owner: str, context_id: str) -> list[str]:
    page = await tasks.table.query(
        IndexName="by_context",
        KeyConditionExpression="context_key = :context",
        ExpressionAttributeValues={":context": {"S": keys.in_context(tasks.agent, owner, context_id)}},
        ScanIndexForward=False,
        Limit=TASKS,
    )
    return [item["pk"]["S"] for item in page["Items"]]


def _read(tasks: Tasks, owner: str, items: Iterable[Item]) -> list[Head]:
    """Those that have not expired. One that cannot be read any more is as good as expired. Blocks."""
    heads = []
    for item in items:
        try:
            head = Head.read(item, tasks.agent, owner, tasks.payloads)
        except StorageError as error:
            logger.warning("an earlier task is not remembered: %s", error)
            continue
        if head.expires > tasks.clock():
            heads.append(head)
    return heads


def _carried(heads: Iterable[Head], own: Iterable[FileRecord], most: int) -> dict[str, FileRecord]:
    """The files of these tasks, by their place, as another task may have them: first those that users attached.

    The newest task comes first, and gets the names that it had, also for what it had from those before it.
    """
    names = {record.name: record for record in own}
    found = [record for head in heads for record in head.files if "/hidden/" not in record.key]
    carried: dict[str, FileRecord] = {}
    for record in sorted(found, key=lambda file: file.origin != "attached"):
        place = place_of(record)
        if place not in carried and len(carried) < most:
            name = free_name(names, record.name, "attached")
            origin: Origin = "attached" if record.origin == "attached" else "hidden"
            names[name] = carried[place] = dataclasses.replace(record, name=name, origin=origin)
    return carried


def _reference(head: Head, files: dict[str, FileRecord], share: int) -> list[Words]:
    """What was said in a task that the message refers to. The last of it is told in any case."""
    start, *rest = fitted(said_in(head, files), max(share, 2 * LEAST), REFERRED_TURNS)
    return [dataclasses.replace(start, words=f"{REFERRED.format(id=head.task.id)}\n\n{start.words}".strip()), *rest]
