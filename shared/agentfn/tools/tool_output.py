"""The output of tools: text, data, files and links, made from any return value."""

import dataclasses
import json
import mimetypes
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from enum import Enum
from pathlib import Path, PurePath
from typing import Any
from urllib.parse import unquote, urlsplit
from uuid import UUID

from pydantic import BaseModel

MAX_SUMMARY_CHARS = 120  # characters


@dataclass(frozen=True)
class File:
    """A file that a tool produced, as bytes or as a path. Raises TypeError for other content."""

    name: str
    content: bytes | Path
    media_type: str = ""

    def __post_init__(self) -> None:
        if not isinstance(self.content, bytes | Path):
            raise TypeError(f"a File's content is bytes or a Path, not {type(self.content).__name__}")

    @property
    def content_type(self) -> str:
        return self.media_type or mimetypes.guess_type(self.name)[0] or "application/octet-stream"

    @property
    def size(self) -> int:
        return len(self.content) if isinstance(self.content, bytes) else self.content.stat().st_size

    def read(self) -> bytes:
        return self.content if isinstance(self.content, bytes) else self.content.read_bytes()


@dataclass(frozen=True)
class Output:
    """The text, data and files of one result. `data` is any value that JSON can hold.

    `summary` is one line for the caller, such as "3 matches"; the model does not see it.
    """

    text: str = ""
    data: Any = None
    files: tuple[File, ...] | list[File] = ()
    summary: str = ""

    def render(self) -> str:
        """The text that the model reads: `text`, then `data` as JSON."""
        parts = [self.text] if self.text else []
        if self.data is not None:
            parts.append(to_json_text(self.data))
        return "\n".join(parts)


@dataclass(frozen=True)
class FileLink:
    """A file that an external service stores. It is returned by its URL and never fetched."""

    name: str
    url: str
    media_type: str = ""


def find_link(text: str) -> FileLink | None:
    """The file in a JSON object with an http(s) URL as `download_url`; None if the text is no such object."""
    if '"download_url"' not in text:
        return None
    try:
        shape = json.loads(text)
        url = shape["download_url"]
        parts = urlsplit(url)
        name = next(
            named
            for named in (shape.get("filename"), shape.get("name"), unquote(parts.path.rstrip("/")), "file")
            if named and isinstance(named, str)
        )
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return None
    if parts.scheme not in ("http", "https") or not parts.hostname or not url.isprintable() or " " in url:
        return None
    media_type = shape.get("media_type") or shape.get("content_type") or ""
    return FileLink(name, url, media_type if isinstance(media_type, str) else "")


def to_output(value: object) -> Output:
    """Converts a tool's return value: text as it is, None as empty, files and paths as files, the rest as JSON.

    Raises TypeError or ValueError for a value that is none of these, FileNotFoundError for a path without a file. Slow
    for large values.
    """
    output = _convert_value(value)
    for file in output.files:
        if isinstance(file.content, Path) and not file.content.is_file():
            raise FileNotFoundError(f"it returned {file.name}, but there is no such file")
    return Output(
        replace_surrogates(output.render()), files=tuple(output.files), summary=to_summary_line(output.summary)
    )


def _convert_value(value: object) -> Output:
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
            return Output(files=tuple(_to_files(value)))
        case _:
            return Output(data=value)


def replace_surrogates(text: str) -> str:
    """Replaces lone surrogates, which cannot be stored or sent, with `?`. Undecodable file names contain them."""
    return text.encode("utf-8", "replace").decode()


def to_summary_line(text: str) -> str:
    line = " ".join(replace_surrogates(str(text)).split())
    return line if len(line) <= MAX_SUMMARY_CHARS else f"{line[: MAX_SUMMARY_CHARS - 1]}…"


def to_json_text(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=_json_default)


def _to_files(items: Iterable[File | Path]) -> Iterable[File]:
    return (item if isinstance(item, File) else File(item.name, item) for item in items)


def _json_default(value: Any) -> Any:
    if isinstance(value, BaseModel):
        return value.model_dump(mode="json")
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return dataclasses.asdict(value)
    if isinstance(value, set | frozenset | tuple):
        return list(value)
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, Decimal | UUID | PurePath):
        return str(value)
    if hasattr(value, "isoformat"):
        return value.isoformat()
    raise TypeError(f"a tool returned {type(value).__name__}, which is neither text, a file nor JSON")
