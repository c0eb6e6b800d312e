"""Reads a response into a file: its content up to a size limit, its media type, and a safe name."""

import mimetypes
import re
from collections.abc import Iterable
from contextlib import aclosing
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import unquote

from agentfn.errors import FileRejected
from agentfn.tools.workspaces.file_names import MEDIA_TYPE, sanitize_file_name

if TYPE_CHECKING:
    from httpcore import Response

EXTENDED_FILE_NAME = re.compile(r"(?<![^\s;])filename\*\s*=\s*(utf-8|iso-8859-1)'[^';]*'([^\s;]+)", re.IGNORECASE)
PLAIN_FILE_NAME = re.compile(r"""(?<![^\s;])filename\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s;"]*))""", re.IGNORECASE)
ESCAPED_CHAR = re.compile(r"\\(.)")


@dataclass(frozen=True)
class FetchedFile:
    """`url` is the address after redirects. `media_type` is empty where the response has no valid one."""

    content: bytes
    media_type: str
    name: str
    url: str


async def read_response(response: "Response", url: str, max_bytes: int) -> FetchedFile:
    """Raises FileRejected for a response that is not a file, or has more than `max_bytes` bytes."""
    if response.status != 200:
        raise FileRejected(f"the address answered with status {response.status}")
    if get_header(response, "content-encoding").lower() not in ("", "identity"):
        raise FileRejected("the address sent its file compressed, which it was not asked to")
    length = get_header(response, "content-length")
    if length.isdecimal() and int(length[:20]) > max_bytes:
        raise FileRejected(f"the file has more than {max_bytes:,} bytes")
    content = bytearray()
    async with aclosing(response.aiter_stream()) as parts:  # type: ignore[type-var]
        async for part in parts:
            content += part
            if len(content) > max_bytes:
                raise FileRejected(f"the file has more than {max_bytes:,} bytes")
    content_type = get_header(response, "content-type").partition(";")[0].strip().lower()
    media_type = content_type if MEDIA_TYPE.fullmatch(content_type) else ""
    name = choose_file_name(get_header(response, "content-disposition"), url, media_type)
    return FetchedFile(bytes(content), media_type, name, url)


def get_header(response: "Response", name: str) -> str:
    """The first header with that lower-case name; empty where there is none."""
    values: Iterable[bytes] = (value for key, value in response.headers if key.lower() == name.encode())
    return next((value.decode("latin-1") for value in values), "")


def choose_file_name(disposition: str, url: str, media_type: str) -> str:
    """A safe file name: from the Content-Disposition header, else from the URL's path, else from the media type."""
    path = url.partition("#")[0].partition("?")[0].partition("://")[2].partition("/")[2]
    default = f"file{mimetypes.guess_extension(media_type) or ''}"
    return sanitize_file_name(_disposition_file_name(disposition) or unquote(path), default)


def _disposition_file_name(disposition: str) -> str:
    """The file name of a Content-Disposition header (RFC 6266). Many servers write UTF-8, against the standard."""
    if extended := EXTENDED_FILE_NAME.search(disposition):
        return unquote(extended.group(2), extended.group(1).lower(), errors="replace")
    plain = PLAIN_FILE_NAME.search(disposition)
    if plain is None:
        return ""
    name = ESCAPED_CHAR.sub(r"\1", plain.group(1)) if plain.group(1) is not None else plain.group(2)
    try:
        return name.encode("latin-1").decode()
    except UnicodeError:
        return name
