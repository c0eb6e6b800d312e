"""A source, given as text, as a file: an address, a data URI, raw base64, or the path of a file in the work folder."""

import base64
import binascii
import mimetypes
from pathlib import Path
from urllib.parse import unquote, unquote_to_bytes

from agentfn.errors import FileRefused
from agentfn.fetch.fetcher import Fetcher
from agentfn.tools import File
from agentfn.tools.workspaces.file_names import MEDIA_TYPE, sanitize_file_name

LIMIT = 20 * 1024 * 1024  # bytes
ADDRESSES = ("http://", "https://")


async def fetch_source(
    source: str, fetcher: Fetcher, *, name: str = "", folder: Path | None = None, limit: int = LIMIT
) -> File:
    """As `read_source`; and what is at an http(s) address is fetched."""
    if not source.lower().startswith(ADDRESSES):
        return read_source(source, name=name, folder=folder, limit=limit)
    found = await fetcher.fetch(source, limit)
    return File(sanitize_file_name(name or found.name), found.content, found.media_type)


def read_source(source: str, *, name: str = "", folder: Path | None = None, limit: int = LIMIT) -> File:
    """What needs no network. `folder` is where a path may lead, and nowhere else. `limit` is in bytes.

    Raises FileRefused: for what is none of these, is too large, or lies outside the folder.
    """
    if not source.strip():
        raise FileRefused("the source is empty")
    if source[:5].lower() == "data:":
        return _checked(_data_uri(source, name), limit)
    if folder is not None and (inside := _inside(source, folder)) is not None:
        return _checked(File(name or inside.name, inside), limit)
    if source.lower().startswith((*ADDRESSES, "file:", "ftp:", "s3:")):
        raise FileRefused(f"{source.split(':')[0]} addresses are not fetched; send the file's content")
    return _checked(File(name or "file", _decoded(source)), limit)


def _data_uri(source: str, name: str) -> File:
    """RFC 2397: `data:[<media type>][;name=<name>][;base64],<data>`."""
    head, comma, body = source[5:].partition(",")
    if not comma:
        raise FileRefused("a data URI needs a comma before its data")
    media_type, *parameters = (part.strip() for part in head.split(";"))
    kind = media_type.lower() or "text/plain"
    if not MEDIA_TYPE.fullmatch(kind):
        raise FileRefused("the data URI has no valid media type")
    named = next((item[5:] for item in parameters if item.startswith("name=")), "")
    content = unquote_to_bytes(body.encode("utf-8", "replace"))
    if any(item.lower() == "base64" for item in parameters):
        content = _decoded(content.decode("latin-1"))
    chosen = name or unquote(named, errors="replace") or f"file{mimetypes.guess_extension(kind) or ''}"
    return File(sanitize_file_name(chosen), content, kind)


def _decoded(text: str) -> bytes:
    compact = "".join(text.split())
    try:
        return base64.b64decode(compact + "=" * (-len(compact) % 4), altchars=_alphabet(compact), validate=True)
    except (binascii.Error, ValueError):
        raise FileRefused("the content is not valid base64") from None


def _alphabet(text: str) -> bytes | None:
    return b"-_" if "-" in text or "_" in text else None


def _inside(source: str, folder: Path) -> Path | None:
    """The file that the path names, where it is one. Raises FileRefused where it lies outside the folder."""
    try:
        path = (folder / source).resolve()
        exists = path.is_file()
    except (OSError, ValueError, RuntimeError):
        return None  # too long for a name, as base64 is, or links in a circle
    if exists and not path.is_relative_to(folder.resolve()):
        raise FileRefused(f"{sanitize_file_name(source)} lies outside the work folder")
    return path if exists else None


def _checked(file: File, limit: int) -> File:
    if file.size > limit:
        raise FileRefused(f"{file.name} has {file.size:,} bytes; {limit:,} are allowed")
    return File(sanitize_file_name(file.name), file.content, file.media_type)
