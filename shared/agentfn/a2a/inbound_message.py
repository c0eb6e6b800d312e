"""Validates and parses a client's message before anything is stored."""

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

MAX_ID_CHARS = 256
MAX_PART_COUNT = 500
MAX_ENVELOPE_BYTES = 64 * 1024  # of all that is not content: metadata, names, media types, extensions
MAX_NESTING_DEPTH = 20  # protobuf's limit is 100, and it counts each list and object three times
FILE_CONTENTS = ("raw", "url")
FILENAME_PREFIX = "__ORIGINAL_FILENAME__:"  # a text part that begins so has the name of the next part's file


@dataclass(frozen=True)
class InboundMessage:
    """A valid message. `text` is all of its text and data. `digest` is the SHA-256 of its content.

    `file_parts` are the parts with files; `files` is empty until `load_files` has read them. `idempotency_key` is empty
    if the request had no such header.
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
        """Whether a file must be fetched or looked up."""
        return any(part.url and not part.url.lower().startswith("data:") for _, part in self.file_parts)

    async def load_files(self, agent: Agent, settings: Settings, uploads: UploadStore) -> Self:
        """Returns a copy with its files. Raises InvalidParamsError or ContentTypeNotSupportedError."""
        files = await read_files(self.file_parts, agent.input_modes, settings, uploads)
        return dataclasses.replace(self, files=tuple(files))

    def message_records(self, task_id: str) -> list[MessageRecord]:
        """Returns the records that identify the message if it is sent again: one for its id, one for its key."""
        names = [self.message.message_id, *([f"key:{self.idempotency_key}"] if self.idempotency_key else [])]
        return [MessageRecord(name, task_id, self.digest) for name in names]

    def user_prompt(self, records: Iterable[FileRecord]) -> str:
        """Returns the text of the user's turn. It lists the files by their stored names, for tools to open them."""
        names = "\n".join(f"- {record}" for record in records)
        return "\n\n".join(part for part in (self.text, names and f"Attached files:\n{names}") if part)

    def history_message(self, task_id: str, context_id: str, records: Iterable[FileRecord]) -> Message:
        """Returns the message for the task's history: with its ids, and references to its files."""
        stored = Message()
        stored.CopyFrom(self.message)
        stored.task_id, stored.context_id = task_id, context_id
        texts = [part for part in stored.parts if part.WhichOneof("content") in ("text", "data")]
        parts = [*texts, *(file_part(record) for record in records)]
        del stored.parts[:]
        stored.parts.extend(parts)
        return stored


def parse_message(message: Message, agent: Agent, settings: Settings, idempotency_key: str = "") -> InboundMessage:
    """Parses all but the files. Raises InvalidParamsError or ContentTypeNotSupportedError, which name the part."""
    _check_ids(message)
    if len(idempotency_key) > MAX_ID_CHARS:
        raise InvalidParamsError(f"Idempotency-Key has {len(idempotency_key)} characters; {MAX_ID_CHARS} are allowed")
    if message.role == Role.ROLE_AGENT:
        raise InvalidParamsError("the message's role must be the user's")
    _check_envelope(message)
    parts = _merge_filename_parts(message)
    for number, part in parts:
        check_part(part, number, agent.input_modes)
    text = "\n\n".join(part_text for _, part in parts if (part_text := _part_text(part)))
    if len(text) > settings.message.max_text_chars:
        raise InvalidParamsError(
            f"the message has {len(text):,} characters of text; {settings.message.max_text_chars:,} are allowed. "
            "Send long content as a file"
        )
    file_parts = tuple((number, part) for number, part in parts if part.WhichOneof("content") in FILE_CONTENTS)
    if len(file_parts) > settings.message.max_files:
        raise InvalidParamsError(f"the message has {len(file_parts)} files; {settings.message.max_files} are allowed")
    if not text and not file_parts:
        raise InvalidParamsError("the message is empty: it needs text, data or a file")
    merged = Message()
    merged.CopyFrom(message)
    del merged.parts[:]
    merged.parts.extend(part for _, part in parts)
    skill, digest = _read_skill(message, agent), _content_digest(message)
    return InboundMessage(merged, text, file_parts, skill, digest, idempotency_key)


def _merge_filename_parts(message: Message) -> list[tuple[int, Part]]:
    """Returns the parts with their original numbers, from 1. A part with only a file name becomes the next part's."""
    merged: list[tuple[int, Part]] = []
    name = ""
    following = [part.WhichOneof("content") for part in message.parts[1:]]
    for number, (part, after) in enumerate(zip(message.parts, [*following, ""], strict=True), 1):
        kind = part.WhichOneof("content")
        if kind is None:
            raise InvalidParamsError(f"part {number} has no content: it needs one of text, raw, url and data")
        if kind == "text" and part.text.startswith(FILENAME_PREFIX) and after in FILE_CONTENTS:
            name = part.text.removeprefix(FILENAME_PREFIX).strip()
            continue
        copy = Part()
        copy.CopyFrom(part)
        copy.filename, name = name or part.filename, ""
        merged.append((number, copy))
    return merged


def _check_ids(message: Message) -> None:
    for name in ("message_id", "task_id", "context_id"):
        value = getattr(message, name)
        if len(value) > MAX_ID_CHARS:
            raise InvalidParamsError(f"{name} has {len(value)} characters; {MAX_ID_CHARS} are allowed")
    if not message.message_id.strip():
        raise InvalidParamsError("message_id is missing; it tells a repeated message from a new one")


def _check_envelope(message: Message) -> None:
    """Limits what is not content: it would be stored and read again with every task."""
    if len(message.parts) > MAX_PART_COUNT:
        raise InvalidParamsError(f"the message has {len(message.parts):,} parts; {MAX_PART_COUNT} are allowed")
    size = message.ByteSize() - sum(
        len(part.text.encode()) + len(part.raw) + len(part.url) + part.data.ByteSize() for part in message.parts
    )
    if size > MAX_ENVELOPE_BYTES:
        raise InvalidParamsError(
            f"the message's metadata, names and extensions have {size:,} bytes; {MAX_ENVELOPE_BYTES:,} are allowed. "
            "Send long content as a file"
        )
    for name, content in [
        ("metadata", message.metadata),
        *((f"metadata of part {number}", part.metadata) for number, part in enumerate(message.parts, 1)),
        *((f"data of part {number}", part.data) for number, part in enumerate(message.parts, 1)),
    ]:
        if _nesting_depth(MessageToDict(content)) > MAX_NESTING_DEPTH:
            raise InvalidParamsError(
                f"{name} is nested deeper than {MAX_NESTING_DEPTH} lists and objects. Send it as a file"
            )


def _nesting_depth(value: Any) -> int:
    """Returns how many levels of lists and objects a value has."""
    items = value.values() if isinstance(value, dict) else value if isinstance(value, list) else None
    return 0 if items is None else 1 + max(map(_nesting_depth, items), default=0)


def _part_text(part: Part) -> str:
    match part.WhichOneof("content"):
        case "text":
            return part.text.strip()
        case "data":
            return json.dumps(decode_numbers(MessageToDict(part.data), free_json=True), ensure_ascii=False)
        case _:
            return ""


def _read_skill(message: Message, agent: Agent) -> str:
    """Returns the skill that the message's metadata names as `skill` or `skillId`, or an empty string."""
    metadata = MessageToDict(message.metadata) if message.HasField("metadata") else {}
    name = metadata.get("skill") or metadata.get("skillId") or ""
    if name and (not isinstance(name, str) or agent.find_skill(name) is None):
        known = ", ".join(skill.id for skill in agent.skills) or "none"
        raise InvalidParamsError(f"the agent has no such skill; it has: {known}")
    return name


def _content_digest(message: Message) -> str:
    """Returns a digest that is the same if the same message is sent again."""
    content = Message(parts=message.parts, task_id=message.task_id, metadata=message.metadata)
    return hashlib.sha256(content.SerializeToString(deterministic=True)).hexdigest()
