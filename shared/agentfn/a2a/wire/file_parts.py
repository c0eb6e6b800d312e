"""Validates the file parts of a request's JSON, where the sdk would accept invalid ones.

The sdk drops invalid characters from base64, and picks one of several contents of a 0.3 file.
"""

import base64
import binascii
from typing import Any

from a2a.utils.errors import InvalidParamsError

CONTENT_FIELDS = ("bytes", "uri", "fileWithBytes", "fileWithUri", "file_with_bytes", "file_with_uri")  # before 1.0
URLSAFE_TO_STANDARD = str.maketrans("-_", "+/")


def validate_file_parts(request: Any) -> None:
    """Raises InvalidParamsError for an invalid file. Anything that is not a message passes: the sdk rejects it."""
    for number, part in enumerate(_message_parts(request), 1):
        if error := _file_error(part):
            raise InvalidParamsError(f"part {number}: {error}")


def _message_parts(shape: Any) -> list[Any]:
    """Returns the message's parts, for JSON-RPC, HTTP, and HTTP of 0.3."""
    if not isinstance(shape, dict):
        return []
    inner = shape.get("params", shape)
    message = inner.get("message") if isinstance(inner, dict) else None
    parts = message.get("parts", message.get("content")) if isinstance(message, dict) else None
    return parts if isinstance(parts, list) else []


def _file_error(part: Any) -> str:
    if not isinstance(part, dict):
        return ""
    file = part.get("file")
    if not isinstance(file, dict):
        return _base64_error(part.get("raw"), strict=False)
    contents = [name for name in CONTENT_FIELDS if file.get(name) is not None]
    if len(contents) != 1:
        return f"a file has either bytes or a uri; this one has {' and '.join(contents) or 'neither'}"
    return _base64_error(file[contents[0]], strict=contents[0] == "bytes") if "ytes" in contents[0] else ""


def _base64_error(content: Any, *, strict: bool) -> str:
    """Checks base64 as the sdk's parsers do: all of them ignore blanks and line ends.

    `strict` is for 0.3's `bytes`. Protobuf's parser, for the others, also takes URL-safe base64 and missing padding.
    """
    if not isinstance(content, str):
        return ""
    text = "".join(content.split())
    if not strict:
        text = text.translate(URLSAFE_TO_STANDARD).rstrip("=")
        text += "=" * (-len(text) % 4)
    try:
        base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return "the file's content is not valid base64"
    return ""
