"""Media types: what an agent takes, and what its callers do."""

import mimetypes
from collections.abc import Sequence

from a2a.types import Part
from a2a.utils.errors import ContentTypeNotSupportedError

OCTET_STREAM = "application/octet-stream"  # among modes: bytes of whatever kind
TEXT_MEDIA_TYPES = {"text": "text/plain", "data": "application/json"}


def check_part(part: Part, number: int, modes: Sequence[str]) -> None:
    """Before anything is fetched: a file at an address may not have said yet what it is.

    Words are what they are, whatever more they say of themselves. Raises ContentTypeNotSupportedError.
    """
    if words := TEXT_MEDIA_TYPES.get(str(part.WhichOneof("content"))):
        _check_types(number, [words, _strip_parameters(part.media_type)], modes)
    elif part.media_type:
        check_file(part.media_type, part.filename, number, modes)


def check_file(media_type: str, name: str, number: int, modes: Sequence[str]) -> None:
    """Bytes that say no more of themselves are of the kind that their name tells. Raises ContentTypeNotSupportedError,
    which names what is taken.
    """
    kind = _strip_parameters(media_type) or OCTET_STREAM
    if kind == OCTET_STREAM:
        kind = mimetypes.guess_type(name)[0] or OCTET_STREAM
    _check_types(number, [kind, OCTET_STREAM], modes)


def check_accepted_types(accepted: Sequence[str], modes: Sequence[str]) -> None:
    """Raises ContentTypeNotSupportedError where a caller accepts nothing of what the agent gives."""
    given = [_strip_parameters(mode) for mode in modes]
    if not accepted or not given or OCTET_STREAM in given:
        return
    for kind in map(_strip_parameters, accepted):
        if "/" not in kind or kind == OCTET_STREAM:  # "text" and the like are from before 0.3
            return
        if any(_matches(mode, kind) or _matches(kind, mode) for mode in given):
            return
    raise ContentTypeNotSupportedError(
        f"accepted_output_modes: none of {', '.join(accepted)} is given; the agent gives {', '.join(modes)}"
    )


def _check_types(number: int, kinds: Sequence[str], modes: Sequence[str]) -> None:
    """`kinds` is what a part passes as, its own name first."""
    if not modes or any(_matches(_strip_parameters(mode), kind) for mode in modes for kind in kinds):
        return
    raise ContentTypeNotSupportedError(f"part {number}: {kinds[0]} is not taken; the agent takes {', '.join(modes)}")


def _matches(mode: str, kind: str) -> bool:
    return mode in ("*/*", kind) or (mode.endswith("/*") and kind.startswith(mode[:-1]))


def _strip_parameters(media_type: str) -> str:
    return media_type.partition(";")[0].strip().lower()
