"""A client's message, checked whole before anything is written."""

import dataclasses
import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Self

from a2a.types import Message, Part, Role
from a2a.utils.errors import InvalidParamsError
from google.protobuf.json_format import MessageToDict

from agentfn.a2a.files.inbound_files import Numbered, read_files
from agentfn.a2a.media_types import check_part
from agentfn.agent import Agent
from agentfn.files import Upload, Uploads
from agentfn.json_numbers import exact
from agentfn.runs.task_updates import file_part
from agentfn.settings import Settings
from agentfn.store import MessageRecord
from agentfn.tools import File, FileRecord

LONGEST_ID = 256  # characters
MOST_PARTS = 500
LARGEST_REST = 64 * 1024  # bytes of all that is not content: metadata, names, media types, extensions
DEEPEST = 20  # lists and objects in each other; protobuf stops at 100, and counts each three times
FILES = ("raw", "url")
NAMING = "__ORIGINAL_FILENAME__:"  # begins a text part that is nothing but the name of the file in the next one


@dataclass(frozen=True)
class Incoming:
    """`text` is what the model reads of the message, the names of its files apart. `digest` tells its content.

    `sent` are its parts that are files, and `files` is what they hold, once it is read. `key` is the value of an
    Idempotency-Key header, empty where there was none.
    """

    message: Message
    text: str
    sent: tuple[Numbered, ...]
    skill: str
    digest: str
    key: str = ""
    files: tuple[File | Upload, ...] = ()

    @property
    def far(self) -> bool:
        """Whether reading its files takes more than what came with it."""
        return any(part.url and not part.url.lower().startswith("data:") for _, part in self.sent)

    async def read(self, agent: Agent, settings: Settings, uploads: Uploads) -> Self:
        """With its files. Raises InvalidParamsError or ContentTypeNotSupportedError."""
        files = await read_files(self.sent, agent.input_modes, settings, uploads)
        return dataclasses.replace(self, files=tuple(files))

    def records(self, task_id: str) -> list[MessageRecord]:
        """What tells the message when it comes again: its id, and the key that was sent with it."""
        names = [self.message.message_id, *([f"key:{self.key}"] if self.key else [])]
        return [MessageRecord(name, task_id, self.digest) for name in names]

    def prompt(self, records: Iterable[FileRecord]) -> str:
        """The user's turn. The files are named as they are stored, so that the model can ask for them."""
        names = "\n".join(f"- {record}" for record in records)
        return "\n\n".join(part for part in (self.text, names and f"Attached files:\n{names}") if part)

    def stored(self, task_id: str, context_id: str, records: Iterable[FileRecord]) -> Message:
        """The message as the task's history keeps it: with its ids, and its files by reference."""
        kept = Message()
        kept.CopyFrom(self.message)
        kept.task_id, kept.context_id = task_id, context_id
        words = [part for part in kept.parts if part.WhichOneof("content") in ("text", "data")]
        parts = [*words, *(file_part(record) for record in records)]
        del kept.parts[:]
        kept.parts.extend(parts)
        return kept


def read_message(message: Message, agent: Agent, settings: Settings, key: str = "") -> Incoming:
    """Everything but its files. Raises InvalidParamsError or ContentTypeNotSupportedError, saying which part is wrong
    and why.
    """
    _check_ids(message)
    if len(key) > LONGEST_ID:
        raise InvalidParamsError(f"Idempotency-Key has {len(key)} characters; {LONGEST_ID} are allowed")
    if message.role == Role.ROLE_AGENT:
        raise InvalidParamsError("the message's role must be the user's")
    _check_rest(message)
    pieces = _pieces(message)
    for number, part in pieces:
        check_part(part, number, agent.input_modes)
    text = "\n\n".join(words for _, part in pieces if (words := _words(part)))
    if len(text) > settings.max_text_chars:
        raise InvalidParamsError(
            f"the message has {len(text):,} characters of text; {settings.max_text_chars:,} are allowed. "
            "Send long content as a file"
        )
    sent = tuple((number, part) for number, part in pieces if part.WhichOneof("content") in FILES)
    if len(sent) > settings.max_files:
        raise InvalidParamsError(f"the message has {len(sent)} files; {settings.max_files} are allowed")
    if not text and not sent:
        raise InvalidParamsError("the message is empty: it needs text, data or a file")
    said = Message()
    said.CopyFrom(message)
    del said.parts[:]
    said.parts.extend(part for _, part in pieces)
    return Incoming(said, text, sent, _skill(message, agent), _digest(message), key)


def _pieces(message: Message) -> list[tuple[int, Part]]:
    """Its parts, numbered as the caller counts them; a part that only names the next one has become its name."""
    pieces: list[tuple[int, Part]] = []
    name = ""
    following = [part.WhichOneof("content") for part in message.parts[1:]]
    for number, (part, after) in enumerate(zip(message.parts, [*following, ""], strict=True), 1):
        kind = part.WhichOneof("content")
        if kind is None:
            raise InvalidParamsError(f"part {number} has no content: it needs one of text, raw, url and data")
        if kind == "text" and part.text.startswith(NAMING) and after in FILES:
            name = part.text.removeprefix(NAMING).strip()
            continue
        piece = Part()
        piece.CopyFrom(part)
        piece.filename, name = name or part.filename, ""
        pieces.append((number, piece))
    return pieces


def _check_ids(message: Message) -> None:
    for name in ("message_id", "task_id", "context_id"):
        value = getattr(message, name)
        if len(value) > LONGEST_ID:
            raise InvalidParamsError(f"{name} has {len(value)} characters; {LONGEST_ID} are allowed")
    if not message.message_id.strip():
        raise InvalidParamsError("message_id is missing; it tells a repeated message from a new one")


def _check_rest(message: Message) -> None:
    """What would cost more to keep and to read than it says."""
    if len(message.parts) > MOST_PARTS:
        raise InvalidParamsError(f"the message has {len(message.parts):,} parts; {MOST_PARTS} are allowed")
    rest = message.ByteSize() - sum(
        len(part.text.encode()) + len(part.raw) + len(part.url) + part.data.ByteSize() for part in message.parts
    )
    if rest > LARGEST_REST:
        raise InvalidParamsError(
            f"the message's metadata, names and extensions have {rest:,} bytes; {LARGEST_REST:,} are allowed. "
            "Send long content as a file"
        )
    for named, said in [
        ("metadata", message.metadata),
        *((f"metadata of part {number}", part.metadata) for number, part in enumerate(message.parts, 1)),
        *((f"data of part {number}", part.data) for number, part in enumerate(message.parts, 1)),
    ]:
        if _depth(MessageToDict(said)) > DEEPEST:
            raise InvalidParamsError(f"{named} is nested deeper than {DEEPEST} lists and objects. Send it as a file")


def _depth(value: Any) -> int:
    """How many lists and objects are in each other."""
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else None
    return 0 if inner is None else 1 + max(map(_depth, inner), default=0)


def _words(part: Part) -> str:
    match part.WhichOneof("content"):
        case "text":
            return part.text.strip()
        case "data":
            return json.dumps(exact(MessageToDict(part.data), free=True), ensure_ascii=False)
        case _:
            return ""


def _skill(message: Message, agent: Agent) -> str:
    """The skill that the message's metadata names, as `skill` or `skillId`; empty where it names none."""
    metadata = MessageToDict(message.metadata) if message.HasField("metadata") else {}
    name = metadata.get("skill") or metadata.get("skillId") or ""
    if name and (not isinstance(name, str) or agent.find_skill(name) is None):
        known = ", ".join(skill.id for skill in agent.skills) or "none"
        raise InvalidParamsError(f"the agent has no such skill; it has: {known}")
    return name


def _digest(message: Message) -> str:
    """Of what was said, to whom: the same message sent twice has the same one."""
    said = Message(parts=message.parts, task_id=message.task_id, metadata=message.metadata)
    return hashlib.sha256(said.SerializeToString(deterministic=True)).hexdigest()
