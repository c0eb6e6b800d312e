"""The conversation of a task as text for the model of another task, within a number of characters."""

import dataclasses
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal, Self

from a2a.types import Message, Part, Role, Task, TaskState
from google.protobuf.json_format import MessageToDict

from agentfn.json_numbers import decode_numbers
from agentfn.models import Turn
from agentfn.runs.task_updates import OBJECT_SCHEME
from agentfn.store import TaskRecord
from agentfn.tools import FileRecord

MIN_UTTERANCE_CHARS = 200  # a shorter rest of a message says nothing
TRUNCATION_NOTE = " … ({missing:,} more characters are left out here)"
NO_TEXT = "(no words)"
ATTACHED_FILES_TITLE, PRODUCED_FILES_TITLE = "Attached files:", "Files that were made for this:"
STATUS_TEXTS = {
    TaskState.TASK_STATE_FAILED: "(This failed: {text})",
    TaskState.TASK_STATE_CANCELED: "(This was canceled before it was done.)",
    TaskState.TASK_STATE_SUBMITTED: "(This is still being worked on.)",
    TaskState.TASK_STATE_WORKING: "(This is still being worked on.)",
}


@dataclass(frozen=True)
class Utterance:
    """One message of the user or the agent. `files` pairs each file with the title that it is listed under."""

    role: Literal["user", "assistant"]
    content: str
    files: tuple[tuple[str, FileRecord], ...] = ()

    @property
    def text(self) -> str:
        """The content, then the files, each list under its title."""
        titles = dict.fromkeys(title for title, _ in self.files)
        lists = [[title, *(f"- {file}" for under, file in self.files if under == title)] for title in titles]
        return "\n\n".join(filter(None, [self.content, *("\n".join(lines) for lines in lists)])) or NO_TEXT

    @property
    def turn(self) -> Turn:
        return Turn(self.role, self.text)

    def with_files(self, title: str, files: Iterable[FileRecord]) -> Self:
        return dataclasses.replace(self, files=(*self.files, *((title, file) for file in files)))

    def truncate(self, max_chars: int) -> Self:
        """At most `max_chars` of the content, including a note of how many characters are missing."""
        if len(self.content) <= max_chars:
            return self
        kept = self.content[: max_chars - len(TRUNCATION_NOTE.format(missing=len(self.content)))]
        return dataclasses.replace(self, content=kept + TRUNCATION_NOTE.format(missing=len(self.content) - len(kept)))


def conversation_of(record: TaskRecord, files: Mapping[str, FileRecord]) -> list[Utterance]:
    """The task's messages from the user's first one on, and its last status. `files` may be named, by location.

    Files that the agent produced are listed under the user's last message: a model that saw such a list in the agent's
    answer would write one itself.
    """
    utterances = [_to_utterance(message, files) for message in record.task.history]
    locations = [location_of(file) for file in record.files if file.origin == "produced"]
    produced = [files[location] for location in locations if location in files]
    last = max((index for index, utterance in enumerate(utterances) if utterance.role == "user"), default=None)
    if last is not None:
        utterances[last] = utterances[last].with_files(PRODUCED_FILES_TITLE, produced)
    return [*utterances, Utterance("assistant", _status_text(record.task))]


def fit_to_budget(utterances: list[Utterance], max_chars: int, max_count: int) -> list[Utterance]:
    """The last `max_count` utterances within `max_chars`, from one of the user's on. The longest are truncated.

    Names of files are not counted.
    """
    utterances = _drop_until_user(utterances[-max_count:]) if max_count > 0 else []
    while utterances:
        if total_chars(utterances) <= max_chars:
            return utterances
        limit = _max_length([len(utterance.content) for utterance in utterances], max_chars)
        if limit >= MIN_UTTERANCE_CHARS:
            return [utterance.truncate(limit) for utterance in utterances]
        utterances = _drop_until_user(utterances[1:])
    return []


def total_chars(utterances: Iterable[Utterance]) -> int:
    return sum(len(utterance.content) for utterance in utterances)


def location_of(record: FileRecord) -> str:
    """The file's key in the bucket or its URL: the same in each task that has the file."""
    return record.key or record.url


def _to_utterance(message: Message, files: Mapping[str, FileRecord]) -> Utterance:
    locations = [part.url.removeprefix(OBJECT_SCHEME) for part in message.parts]
    attached = [files[location] for location in locations if location in files]
    role: Literal["user", "assistant"] = "user" if message.role == Role.ROLE_USER else "assistant"
    return Utterance(role, _parts_text(message.parts)).with_files(ATTACHED_FILES_TITLE, attached)


def _status_text(task: Task) -> str:
    text = _parts_text(task.status.message.parts)
    return STATUS_TEXTS.get(task.status.state, "{text}").format(text=text)


def _parts_text(parts: Iterable[Part]) -> str:
    return "\n\n".join(text for part in parts if (text := part.text.strip() or _data_text(part)))


def _data_text(part: Part) -> str:
    if part.WhichOneof("content") != "data":
        return ""
    return json.dumps(decode_numbers(MessageToDict(part.data), free_json=True), ensure_ascii=False)


def _drop_until_user(utterances: list[Utterance]) -> list[Utterance]:
    return next((utterances[index:] for index, each in enumerate(utterances) if each.role == "user"), [])


def _max_length(lengths: list[int], max_chars: int) -> int:
    """The length at which to truncate the longest, so that all together have at most `max_chars`."""
    remaining_chars, remaining_count = max_chars, len(lengths)
    for length in sorted(lengths):
        if length * remaining_count > remaining_chars:
            break
        remaining_chars, remaining_count = remaining_chars - length, remaining_count - 1
    return remaining_chars // remaining_count if remaining_count else max(lengths, default=0)
