"""What a tool gives back."""

import dataclasses
import json
import mimetypes
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import BaseModel


@dataclass(frozen=True)
class File:
    """A file that a tool produced: in memory or on disk."""

    name: str
    content: bytes | Path
    media_type: str = ""

    @property
    def kind(self) -> str:
        return self.media_type or mimetypes.guess_type(self.name)[0] or "application/octet-stream"

    @property
    def size(self) -> int:
        return len(self.content) if isinstance(self.content, bytes) else self.content.stat().st_size

    def read(self) -> bytes:
        return self.content if isinstance(self.content, bytes) else self.content.read_bytes()


@dataclass(frozen=True)
class Output:
    """Text, data and files of one result together. `data` is anything that JSON can hold."""

    text: str = ""
    data: Any = None
    files: tuple[File, ...] | list[File] = ()

    def render(self) -> str:
        """What the model reads of it, the files apart."""
        parts = [self.text] if self.text else []
        if self.data is not None:
            parts.append(as_json(self.data))
        return "\n".join(parts)


def output_of(value: object) -> Output:
    """Any return value of a tool as an Output: text as it is, None as empty, files as files, the rest as JSON.

    Raises TypeError for what is none of these.
    """
    match value:
        case Output():
            return value
        case None:
            return Output()
        case str():
            return Output(value)
        case File():
            return Output(files=(value,))
        case Path():
            return Output(files=(File(value.name, value),))
        case bytes():
            return Output(files=(File("output.bin", value),))
        case list() | tuple() if value and all(isinstance(item, File | Path) for item in value):
            return Output(files=tuple(_files(value)))
        case _:
            return Output(data=value)


def as_json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=_plain)


def _files(items: Iterable[File | Path]) -> Iterable[File]:
    return (item if isinstance(item, File) else File(item.name, item) for item in items)


def _plain(value: Any) -> Any:
    if isinstance(value, BaseModel):
        return value.model_dump(mode="json")
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return dataclasses.asdict(value)
    if isinstance(value, set | frozenset | tuple):
        return list(value)
    if hasattr(value, "isoformat"):
        return value.isoformat()
    if type(value).__module__ in ("decimal", "uuid", "pathlib", "pathlib._local"):
        return str(value)
    raise TypeError(f"a tool returned {type(value).__name__}, which is neither text, a file nor JSON")
