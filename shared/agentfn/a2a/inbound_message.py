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

from agentfn.a2a.files.inbound_files import NumberedPart, read_files
from agentfn.a2a.media_types import check_part
from agentfn.agent import Agent
from agentfn.files import Upload, UploadStore
from agentfn.json_numbers import decode_numbers
from agentfn.runs.task_updates import file_part
from agentfn.settings import Settings
from agentfn.store import MessageRecord
from agentfn.tools import File, FileRecord

MAX_ID_CHARS = 256  # characters
MAX_PART_COUNT = 500
MAX_ENVELOPE_BYTES = 64 * 1024  # bytes of all that is not content: metadata, names, media types, extensions
MAX_NESTING_DEPTH = 20  # lists and objects in each other; protobuf stops at 100, and counts each three times
FILE_CONTENTS = ("raw", "url")
FILENAME_PREFIX = (
    "__ORIGINAL_FILENAME__:"  # begins a text part that is nothing but the name of the file in the next one
)


@dataclass(frozen=True)
class InboundMessage:
    """`text` is what the model reads of the message, the names of its files apart. `digest` tells its content.

    `sent` are its parts that are files, and `files` is what they hold, once it is read. `key` is the value of an
    Idempotency-Key header, empty where there was none.
    """

    message: Message
    text: str
    file_parts: tuple[NumberedPart, ...]
    skill: str
    digest: str
    idempotency_key: str = ""
    files: tuple[File | Upload, ...] = ()

    @property
    def has_remote_files(self) -> bool:
        """Whether reading its files takes more than what came with it."""
        return any(part.url and not part.url.lower().startswith("data:") for _, part in self.file_parts)

    async def load_files(self, agent: Agent, settings: Settings, uploads: UploadStore) -> Self:
        """With its files. Raises InvalidParamsError or ContentTypeNotSupportedError."""
        files = await read_files(self.file_parts, agent.input_modes, settings, uploads)
        return dataclasses.replace(self, files=tuple(files))

    def message_records(self, task_id: str) -> list[MessageRecord]:
        """What tells the message when it comes again: its id, and the key that was sent with it."""
        names = [self.message.message_id, *([f"key:{self.idempotency_key}"] if self.idempotency_key else [])]
        return [MessageRecord(name, task_id, self.digest) for name in names]

    def user_prompt(self, records: Iterable[FileRecord]) -> str:
        """The user's turn. The files are named as they are stored, so that the model can ask for them."""
        names = "\n".join(f"- {record}" for record in records)
        return "\n\n".join(part for part in (self.text, names and f"Attached files:\n{names}") if part)

    def history_message(self, task_id: str, context_id: str, records: Iterable[FileRecord]) -> Message:
        """The message as the task's history keeps it: with its ids, and its files by reference."""
        kept = Message()
        kept.CopyFrom(self.message)
        kept.task_id, kept.context_id = task_id, context_id
        words = [part for part in kept.parts if part.WhichOneof("content") in ("text", "data")]
        parts = [*words, *(file_part(record) for record in records)]
        del kept.parts[:]
        kept.parts.extend(parts)
        return kept


def parse_message(message: Message, agent: Agent, settings: Settings, idempotency_key: str = "") -> InboundMessage:
    """Everything but its files. Raises InvalidParamsError or ContentTypeNotSupportedError, saying which part is wrong
    and why.
    """
    _check_ids(message)
    if len(idempotency_key) > MAX_ID_CHARS:
        raise InvalidParamsError(f"Idempotency-Key has {len(idempotency_key)} characters; {MAX_ID_CHARS} are allowed")
    if message.role == Role.ROLE_AGENT:
        raise InvalidParamsError("the message's role must be the user's")
    _check_envelope(message)
    pieces = _merge_filename_parts(message)
    for number, part in pieces:
        check_part(part, number, agent.input_modes)
    text = "\n\n".join(words for _, part in pieces if (words := _part_text(part)))
    if len(text) > settings.message.max_text_chars:
        raise InvalidParamsError(
            f"the message has {len(text):,} characters of text; {settings.message.max_text_chars:,} are allowed. "
            "Send long content as a file"
        )
    sent = tuple((number, part) for number, part in pieces if part.WhichOneof("content") in FILE_CONTENTS)
    if len(sent) > settings.message.max_files:
        raise InvalidParamsError(f"the message has {len(sent)} files; {settings.message.max_files} are allowed")
    if not text and not sent:
        raise InvalidParamsError("the message is empty: it needs text, data or a file")
    said = Message()
    said.CopyFrom(message)
    del said.parts[:]
    said.parts.extend(part for _, part in pieces)
    return InboundMessage(said, text, sent, _read_skill(message, agent), _content_digest(message), idempotency_key)


def _merge_filename_parts(message: Message) -> list[tuple[int, Part]]:
    """Its parts, numbered as the caller counts them; a part that only names the next one has become its name."""
    pieces: list[tuple[int, Part]] = []
    name = ""
    following = [part.WhichOneof("content") for part in message.parts[1:]]
    for number, (part, after) in enumerate(zip(message.parts, [*following, ""], strict=True), 1):
        kind = part.WhichOneof("content")
        if kind is None:
            raise InvalidParamsError(f"part {number} has no content: it needs one of text, raw, url and data")
        if kind == "text" and part.text.startswith(FILENAME_PREFIX) and after in FILE_CONTENTS:
            name = part.text.removeprefix(FILENAME_PREFIX).strip()
            continue
        piece = Part()
        piece.CopyFrom(part)
        piece.filename, name = name or part.filename, ""
        pieces.append((number, piece))
    return pieces


def _check_ids(message: Message) -> None:
    for name in ("message_id", "task_id", "context_id"):
        value = getattr(message, name)
        if len(value) > MAX_ID_CHARS:
            raise InvalidParamsError(f"{name} has {len(value)} characters; {MAX_ID_CHARS} are allowed")
    if not message.message_id.strip():
        raise InvalidParamsError("message_id is missing; it tells a repeated message from a new one")


def _check_envelope(message: Message) -> None:
    """What would cost more to keep and to read than it says."""
    if len(message.parts) > MAX_PART_COUNT:
        raise InvalidParamsError(f"the message has {len(message.parts):,} parts; {MAX_PART_COUNT} are allowed")
    rest = message.ByteSize() - sum(
        len(part.text.encode()) + len(part.raw) + len(part.url) + part.data.ByteSize() for part in message.parts
    )
    if rest > MAX_ENVELOPE_BYTES:
        raise InvalidParamsError(
            f"the message's metadata, names and extensions have {rest:,} bytes; {MAX_ENVELOPE_BYTES:,} are allowed. "
            "Send long content as a file"
        )
    for named, said in [
        ("metadata", message.metadata),
        *((f"metadata of part {number}", part.metadata) for number, part in enumerate(message.parts, 1)),
        *((f"data of part {number}", part.data) for number, part in enumerate(message.parts, 1)),
    ]:
        if _nesting_depth(MessageToDict(said)) > MAX_NESTING_DEPTH:
            raise InvalidParamsError(
                f"{named} is nested deeper than {MAX_NESTING_DEPTH} lists and objects. Send it as a file"
            )


def _nesting_depth(value: Any) -> int:
    """How many lists and objects are in each other."""
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else None
    return 0 if inner is None else 1 + max(map(_nesting_depth, inner), default=0)


def _part_text(part: Part) -> str:
    match part.WhichOneof("content"):
        case "text":
            return part.text.strip()
        case "data":
            return json.dumps(decode_numbers(MessageToDict(part.data), free_json=True), ensure_ascii=False)
        case _:
            return ""


def _read_skill(message: Message, agent: Agent) -> str:
    """The skill that the message's metadata names, as `skill` or `skillId`; empty where it names none."""
    metadata = MessageToDict(message.metadata) if message.HasField("metadata") else {}
    name = metadata.get("skill") or metadata.get("skillId") or ""
    if name and (not isinstance(name, str) or agent.find_skill(name) is None):
        known = ", ".join(skill.id for skill in agent.skills) or "none"
        raise InvalidParamsError(f"the agent has no such skill; it has: {known}")
    return name


def _content_digest(message: Message) -> str:
    """Of what was said, to whom: the same message sent twice has the same one."""
    said = Message(parts=message.parts, task_id=message.task_id, metadata=message.metadata)
    return hashlib.sha256(said.SerializeToString(deterministic=True)).hexdigest()
