"""A client's message, checked whole before anything is written."""

import asyncio
import dataclasses
import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from a2a.types import Message, Part, Role
from a2a.utils.errors import ContentTypeNotSupportedError, InvalidParamsError
from google.protobuf.json_format import MessageToDict

from agentfn.agent import Agent
from agentfn.errors import FileRefused
from agentfn.files import Fetcher, fetch_source, safe_name
from agentfn.outcome import file_part
from agentfn.settings import Settings
from agentfn.store import MessageRecord
from agentfn.tools import File, FileRecord

LONGEST_ID = 256  # characters
FILES = ("raw", "url")
NAMING = "__ORIGINAL_FILENAME__:"  # begins a text part that is nothing but the name of the file in the next one


@dataclass(frozen=True)
class Incoming:
    """`text` is what the model reads of the message, the names of its files apart. `digest` tells its content.

    `key` is the value of an Idempotency-Key header, empty where there was none.
    """

    message: Message
    text: str
    files: tuple[File, ...]
    skill: str
    digest: str
    key: str = ""

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


async def read_message(message: Message, agent: Agent, settings: Settings, key: str = "") -> Incoming:
    """Raises InvalidParamsError or ContentTypeNotSupportedError, saying which part is wrong and why."""
    _check_ids(message)
    if len(key) > LONGEST_ID:
        raise InvalidParamsError(f"Idempotency-Key has {len(key)} characters; {LONGEST_ID} are allowed")
    if message.role == Role.ROLE_AGENT:
        raise InvalidParamsError("the message's role must be the user's")
    pieces = _pieces(message)
    text = "\n\n".join(words for _, part in pieces if (words := _words(part)))
    if len(text) > settings.max_text_chars:
        raise InvalidParamsError(
            f"the message has {len(text):,} characters of text; {settings.max_text_chars:,} are allowed. "
            "Send long content as a file"
        )
    skill = _skill(message, agent)
    files = tuple(await _read_files(pieces, settings))  # last: what is wrong already has nothing fetched
    if not text and not files:
        raise InvalidParamsError("the message is empty: it needs text, data or a file")
    said = Message()
    said.CopyFrom(message)
    del said.parts[:]
    said.parts.extend(part for _, part in pieces)
    return Incoming(said, text, files, skill, _digest(message), key)


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


def _words(part: Part) -> str:
    match part.WhichOneof("content"):
        case "text":
            return part.text.strip()
        case "data":
            return json.dumps(whole_numbers(MessageToDict(part.data)), ensure_ascii=False)
        case _:
            return ""


async def _read_files(pieces: list[tuple[int, Part]], settings: Settings) -> list[File]:
    """In the order of the message; what is at an address is fetched, all of it within AGENTFN_FETCH_SECONDS."""
    sent = [(number, part) for number, part in pieces if part.WhichOneof("content") in FILES]
    if len(sent) > settings.max_files:
        raise InvalidParamsError(f"the message has {len(sent)} files; {settings.max_files} are allowed")
    files: list[File] = []
    left = settings.max_files_size
    try:
        async with asyncio.timeout(settings.fetch_seconds):
            for number, part in sent:
                files.append(await _file(part, number, settings, left))
                left -= files[-1].size
    except TimeoutError:
        raise InvalidParamsError(
            f"part {number}: the files of the message did not come within {settings.fetch_seconds:g} s"
        ) from None
    return files


async def _file(part: Part, number: int, settings: Settings, left: int) -> File:
    """`left` is how many bytes the message's files may still have."""
    limit = min(settings.max_file_size, left)
    together = f"; all files of a message may have {settings.max_files_size:,} together"
    try:
        file = (
            _sent(part, number) if part.WhichOneof("content") == "raw" else await _found(part, number, limit, settings)
        )
        if file.size > limit:
            raise FileRefused(f"{file.name} has {file.size:,} bytes; {limit:,} are allowed")
    except FileRefused as error:
        raise InvalidParamsError(f"part {number}: {error}{together if left < settings.max_file_size else ''}") from None
    return file


def _sent(part: Part, number: int) -> File:
    name = safe_name(part.filename, f"file-{number}")
    if not part.raw:
        raise FileRefused(f"the file {name} is empty")
    return File(name, part.raw, part.media_type)


async def _found(part: Part, number: int, limit: int, settings: Settings) -> File:
    if not part.url.lower().startswith(("data:", "http://", "https://")):
        raise ContentTypeNotSupportedError(
            f"part {number}: only http(s) addresses and data: URIs are read; or send the file's content"
        )
    file = await fetch_source(part.url, Fetcher.of(settings), name=part.filename, limit=limit)
    return dataclasses.replace(file, media_type=part.media_type or file.media_type)


def _skill(message: Message, agent: Agent) -> str:
    """The skill that the message's metadata names, as `skill` or `skillId`; empty where it names none."""
    metadata = MessageToDict(message.metadata) if message.HasField("metadata") else {}
    name = metadata.get("skill") or metadata.get("skillId") or ""
    if name and (not isinstance(name, str) or agent.skill(name) is None):
        known = ", ".join(skill.id for skill in agent.skills) or "none"
        raise InvalidParamsError(f"the agent has no such skill; it has: {known}")
    return name


def _digest(message: Message) -> str:
    """Of what was said, to whom: the same message sent twice has the same one."""
    said = Message(parts=message.parts, task_id=message.task_id, metadata=message.metadata)
    return hashlib.sha256(said.SerializeToString(deterministic=True)).hexdigest()


def whole_numbers(value: Any) -> Any:
    """Numbers without a fraction as integers: protobuf's Struct, which data parts travel in, knows doubles only."""
    if isinstance(value, dict):
        return {name: whole_numbers(item) for name, item in value.items()}
    if isinstance(value, list):
        return [whole_numbers(item) for item in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value
