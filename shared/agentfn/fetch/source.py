"""Reads a file from a source that is given as text: a URL, a data URI, base64, or a path in the work folder."""

import base64
import binascii
import mimetypes
from pathlib import Path
from urllib.parse import unquote, unquote_to_bytes

from agentfn.errors import FileRejected
from agentfn.fetch.fetcher import Fetcher
from agentfn.tools import File
from agentfn.tools.workspaces.file_names import MEDIA_TYPE, sanitize_file_name

MAX_SOURCE_BYTES = 20 * 1024 * 1024
HTTP_SCHEMES = ("http://", "https://")


async def fetch_source(
    source: str, fetcher: Fetcher, *, name: str = "", folder: Path | None = None, max_bytes: int = MAX_SOURCE_BYTES
) -> File:
    """Like `read_source`, but fetches http and https URLs."""
    if not source.lower().startswith(HTTP_SCHEMES):
        return read_source(source, name=name, folder=folder, max_bytes=max_bytes)
    fetched = await fetcher.fetch(source, max_bytes)
    return File(sanitize_file_name(name or fetched.name), fetched.content, fetched.media_type)


def read_source(source: str, *, name: str = "", folder: Path | None = None, max_bytes: int = MAX_SOURCE_BYTES) -> File:
    """Reads a data URI, base64, or a path below `folder`. `name` replaces the name that the source gives.

    Raises FileRejected for any other source, a file of more than `max_bytes` bytes, and a path outside `folder`.
    """
    if not source.strip():
        raise FileRejected("the source is empty")
    if source[:5].lower() == "data:":
        return _check_size(_parse_data_uri(source, name), max_bytes)
    if folder is not None and (path := _find_in_folder(source, folder)) is not None:
        return _check_size(File(name or path.name, path), max_bytes)
    if source.lower().startswith((*HTTP_SCHEMES, "file:", "ftp:", "s3:")):
        raise FileRejected(f"{source.split(':')[0]} addresses are not fetched; send the file's content")
    return _check_size(File(name or "file", _decode_base64(source)), max_bytes)


def _parse_data_uri(source: str, name: str) -> File:
    """Parses `data:[<media type>][;name=<name>][;base64],<data>` (RFC 2397, with a name)."""
    header, comma, body = source[5:].partition(",")
    if not comma:
        raise FileRejected("a data URI needs a comma before its data")
    media_type, *parameters = (part.strip() for part in header.split(";"))
    media_type = media_type.lower() or "text/plain"
    if not MEDIA_TYPE.fullmatch(media_type):
        raise FileRejected("the data URI has no valid media type")
    given_name = next((item[5:] for item in parameters if item.startswith("name=")), "")
    content = unquote_to_bytes(body.encode("utf-8", "replace"))
    if any(item.lower() == "base64" for item in parameters):
        content = _decode_base64(content.decode("latin-1"))
    name = name or unquote(given_name, errors="replace") or f"file{mimetypes.guess_extension(media_type) or ''}"
    return File(sanitize_file_name(name), content, media_type)


def _decode_base64(text: str) -> bytes:
    compact = "".join(text.split())
    try:
        return base64.b64decode(compact + "=" * (-len(compact) % 4), altchars=_base64_alphabet(compact), validate=True)
    except (binascii.Error, ValueError):
        raise FileRejected("the content is not valid base64") from None


def _base64_alphabet(text: str) -> bytes | None:
    return b"-_" if "-" in text or "_" in text else None


def _find_in_folder(source: str, folder: Path) -> Path | None:
    """The file with that path, None where there is none. Raises FileRejected for a file outside the folder."""
    try:
        path = (folder / source).resolve()
        exists = path.is_file()
    except (OSError, ValueError, RuntimeError):
        return None  # longer than a path can be, as base64 often is, or a circle of links
    if exists and not path.is_relative_to(folder.resolve()):
        raise FileRejected(f"{sanitize_file_name(source)} lies outside the work folder")
    return path if exists else None


def _check_size(file: File, max_bytes: int) -> File:
    if file.size > max_bytes:
        raise FileRejected(f"{file.name} has {file.size:,} bytes; {max_bytes:,} are allowed")
    return File(sanitize_file_name(file.name), file.content, file.media_type)
