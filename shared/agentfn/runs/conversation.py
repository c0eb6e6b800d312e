"""What was said in a task, as the model of another one is told it: in so many characters, with names of files."""

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

MIN_UTTERANCE_CHARS = 200  # characters; what is cut shorter says nothing
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
    """What one side said in one go. `files` are told after it, each under a title."""

    role: Literal["user", "assistant"]
    content: str
    files: tuple[tuple[str, FileRecord], ...] = ()

    @property
    def text(self) -> str:
        titles = dict.fromkeys(title for title, _ in self.files)
        lists = [[title, *(f"- {file}" for under, file in self.files if under == title)] for title in titles]
        return "\n\n".join(filter(None, [self.content, *("\n".join(lines) for lines in lists)])) or NO_TEXT

    @property
    def turn(self) -> Turn:
        return Turn(self.role, self.text)

    def with_files(self, title: str, files: Iterable[FileRecord]) -> Self:
        return dataclasses.replace(self, files=(*self.files, *((title, file) for file in files)))

    def truncate(self, max_chars: int) -> Self:
        """With as many characters of it, the note of how many are missing included."""
        if len(self.content) <= max_chars:
            return self
        kept = self.content[: max_chars - len(TRUNCATION_NOTE.format(missing=len(self.content)))]
        return dataclasses.replace(self, content=kept + TRUNCATION_NOTE.format(missing=len(self.content) - len(kept)))


def conversation_of(record: TaskRecord, files: Mapping[str, FileRecord]) -> list[Utterance]:
    """From the user's first message to what became of it. `files` are those that may be told, by their place.

    Those that the agent made are told with the user's words: a model that saw such a list in an answer of its own would
    write one, too.
    """
    said = [_to_utterance(message, files) for message in record.task.history]
    made = [files[place] for record in record.files if (place := location_of(record)) in files and _is_produced(record)]
    last = max((number for number, words in enumerate(said) if words.role == "user"), default=None)
    if last is not None:
        said[last] = said[last].with_files(PRODUCED_FILES_TITLE, made)
    return [*said, Utterance("assistant", _status_text(record.task))]


def fit_to_budget(utterances: list[Utterance], max_chars: int, max_count: int) -> list[Utterance]:
    """At most so many of them, within `room` characters: the last ones, begun by the user, and the longest ones cut.

    Names of files come on top.
    """
    utterances = _drop_until_user(utterances[-max_count:]) if max_count > 0 else []
    while utterances:
        if total_chars(utterances) <= max_chars:
            return utterances
        limit = _max_length([len(words.content) for words in utterances], max_chars)
        if limit >= MIN_UTTERANCE_CHARS:
            return [words.truncate(limit) for words in utterances]
        utterances = _drop_until_user(utterances[1:])
    return []


def total_chars(utterances: Iterable[Utterance]) -> int:
    return sum(len(words.content) for words in utterances)


def location_of(record: FileRecord) -> str:
    """Where the file is, which is the same in whatever task it has a name."""
    return record.key or record.url


def _is_produced(record: FileRecord) -> bool:
    return record.origin == "produced"


def _to_utterance(message: Message, files: Mapping[str, FileRecord]) -> Utterance:
    places = [part.url.removeprefix(OBJECT_SCHEME) for part in message.parts]
    words = Utterance("user" if message.role == Role.ROLE_USER else "assistant", _parts_text(message.parts))
    return words.with_files(ATTACHED_FILES_TITLE, [files[place] for place in places if place in files])


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
    return next((utterances[place:] for place, words in enumerate(utterances) if words.role == "user"), [])


def _max_length(lengths: list[int], max_chars: int) -> int:
    """The length that the longest may keep, so that all of them together have no more than `room`."""
    left = len(lengths)
    for length in sorted(lengths):
        if length * left > max_chars:
            break
        max_chars, left = max_chars - length, left - 1
    return max_chars // left if left else max(lengths, default=0)
