"""What was said in a task, as the model of another one is told it: in so many characters, with names of files."""

import dataclasses
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal, Self

from a2a.types import Message, Part, Role, Task, TaskState
from google.protobuf.json_format import MessageToDict

from agentfn.exact import exact
from agentfn.models import Turn
from agentfn.runs.task_updates import OBJECT
from agentfn.store import Head
from agentfn.tools import FileRecord

LEAST = 200  # characters; what is cut shorter says nothing
CUT = " … ({missing:,} more characters are left out here)"
WORDLESS = "(no words)"
ATTACHED, MADE = "Attached files:", "Files that were made for this:"
ENDED = {
    TaskState.TASK_STATE_FAILED: "(This failed: {text})",
    TaskState.TASK_STATE_CANCELED: "(This was canceled before it was done.)",
    TaskState.TASK_STATE_SUBMITTED: "(This is still being worked on.)",
    TaskState.TASK_STATE_WORKING: "(This is still being worked on.)",
}


@dataclass(frozen=True)
class Words:
    """What one side said in one go. `files` are told after it, each under a title."""

    role: Literal["user", "assistant"]
    words: str
    files: tuple[tuple[str, FileRecord], ...] = ()

    @property
    def text(self) -> str:
        titles = dict.fromkeys(title for title, _ in self.files)
        lists = [[title, *(f"- {file}" for under, file in self.files if under == title)] for title in titles]
        return "\n\n".join(filter(None, [self.words, *("\n".join(lines) for lines in lists)])) or WORDLESS

    @property
    def turn(self) -> Turn:
        return Turn(self.role, self.text)

    def beside(self, title: str, files: Iterable[FileRecord]) -> Self:
        return dataclasses.replace(self, files=(*self.files, *((title, file) for file in files)))

    def cut(self, length: int) -> Self:
        """With as many characters of it, the note of how many are missing included."""
        if len(self.words) <= length:
            return self
        kept = self.words[: length - len(CUT.format(missing=len(self.words)))]
        return dataclasses.replace(self, words=kept + CUT.format(missing=len(self.words) - len(kept)))


def said_in(head: Head, files: Mapping[str, FileRecord]) -> list[Words]:
    """From the user's first message to what became of it. `files` are those that may be told, by their place.

    Those that the agent made are told with the user's words: a model that saw such a list in an answer of its own would
    write one, too.
    """
    said = [_read(message, files) for message in head.task.history]
    made = [files[place] for record in head.files if (place := place_of(record)) in files and _made(record)]
    last = max((number for number, words in enumerate(said) if words.role == "user"), default=None)
    if last is not None:
        said[last] = said[last].beside(MADE, made)
    return [*said, Words("assistant", _outcome(head.task))]


def fitted(said: list[Words], room: int, most: int) -> list[Words]:
    """At most so many of them, within `room` characters: the last ones, begun by the user, and the longest ones cut.

    Names of files come on top.
    """
    said = _from_user(said[-most:]) if most > 0 else []
    while said:
        if size_of(said) <= room:
            return said
        limit = _limit([len(words.words) for words in said], room)
        if limit >= LEAST:
            return [words.cut(limit) for words in said]
        said = _from_user(said[1:])
    return []


def size_of(said: Iterable[Words]) -> int:
    return sum(len(words.words) for words in said)


def place_of(record: FileRecord) -> str:
    """Where the file is, which is the same in whatever task it has a name."""
    return record.key or record.url


def _made(record: FileRecord) -> bool:
    return record.origin == "produced"


def _read(message: Message, files: Mapping[str, FileRecord]) -> Words:
    places = [part.url.removeprefix(OBJECT) for part in message.parts]
    words = Words("user" if message.role == Role.ROLE_USER else "assistant", _text(message.parts))
    return words.beside(ATTACHED, [files[place] for place in places if place in files])


def _outcome(task: Task) -> str:
    text = _text(task.status.message.parts)
    return ENDED.get(task.status.state, "{text}").format(text=text)


def _text(parts: Iterable[Part]) -> str:
    return "\n\n".join(text for part in parts if (text := part.text.strip() or _data(part)))


def _data(part: Part) -> str:
    if part.WhichOneof("content") != "data":
        return ""
    return json.dumps(exact(MessageToDict(part.data), free=True), ensure_ascii=False)


def _from_user(said: list[Words]) -> list[Words]:
    return next((said[place:] for place, words in enumerate(said) if words.role == "user"), [])


def _limit(lengths: list[int], room: int) -> int:
    """The length that the longest may keep, so that all of them together have no more than `room`."""
    left = len(lengths)
    for length in sorted(lengths):
        if length * left > room:
            break
        room, left = room - length, left - 1
    return room // left if left else max(lengths, default=0)
