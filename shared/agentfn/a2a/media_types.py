"""Checks media types: those of a message's parts, and those that the caller accepts."""

import mimetypes
from collections.abc import Sequence

from a2a.types import Part
from a2a.utils.errors import ContentTypeNotSupportedError

OCTET_STREAM = "application/octet-stream"  # as a mode: any file
TEXT_MEDIA_TYPES = {"text": "text/plain", "data": "application/json"}


def check_part(part: Part, number: int, modes: Sequence[str]) -> None:
    """Checks a part before its file is fetched. A file at a URL without a media type is checked after that.

    Text and data pass with the type of their content or the one that they name. Raises ContentTypeNotSupportedError.
    """
    if content_type := TEXT_MEDIA_TYPES.get(str(part.WhichOneof("content"))):
        _check_types(number, [content_type, _strip_parameters(part.media_type)], modes)
    elif part.media_type:
        check_file(part.media_type, part.filename, number, modes)


def check_file(media_type: str, name: str, number: int, modes: Sequence[str]) -> None:
    """Checks a file's media type. Without one, or with OCTET_STREAM, it is guessed from the name.

    Raises ContentTypeNotSupportedError.
    """
    content_type = _strip_parameters(media_type) or OCTET_STREAM
    if content_type == OCTET_STREAM:
        content_type = mimetypes.guess_type(name)[0] or OCTET_STREAM
    _check_types(number, [content_type, OCTET_STREAM], modes)


def check_accepted_types(accepted: Sequence[str], modes: Sequence[str]) -> None:
    """Raises ContentTypeNotSupportedError if the agent gives nothing that the caller accepts."""
    given = [_strip_parameters(mode) for mode in modes]
    if not accepted or not given or OCTET_STREAM in given:
        return
    for media_type in map(_strip_parameters, accepted):
        if "/" not in media_type or media_type == OCTET_STREAM:  # names such as "text" were used before 0.3
            return
        if any(_matches(mode, media_type) or _matches(media_type, mode) for mode in given):
            return
    raise ContentTypeNotSupportedError(
        f"accepted_output_modes: none of {', '.join(accepted)} is given; the agent gives {', '.join(modes)}"
    )


def _check_types(number: int, types: Sequence[str], modes: Sequence[str]) -> None:
    """Raises ContentTypeNotSupportedError if no mode matches any of the part's `types`. The first is its own."""
    if not modes or any(_matches(_strip_parameters(mode), media_type) for mode in modes for media_type in types):
        return
    raise ContentTypeNotSupportedError(f"part {number}: {types[0]} is not taken; the agent takes {', '.join(modes)}")


def _matches(mode: str, media_type: str) -> bool:
    return mode in ("*/*", media_type) or (mode.endswith("/*") and media_type.startswith(mode[:-1]))


def _strip_parameters(media_type: str) -> str:
    return media_type.partition(";")[0].strip().lower()
