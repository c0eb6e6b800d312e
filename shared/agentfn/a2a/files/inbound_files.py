"""Reads the files of a message: inline, fetched from a URL, or uploaded before."""

import asyncio
import dataclasses
from collections.abc import Iterable, Sequence

from a2a.types import Part
from a2a.utils.errors import ContentTypeNotSupportedError, InvalidParamsError

from agentfn.a2a.files.upload_parts import find_upload, is_upload
from agentfn.a2a.media_types import check_file
from agentfn.errors import FileRejected
from agentfn.fetch import Fetcher, fetch_source
from agentfn.files import Upload, UploadStore
from agentfn.settings import Settings
from agentfn.tools import File
from agentfn.tools.workspaces.file_names import sanitize_file_name

NumberedPart = tuple[int, Part]  # the number is the part's position as the caller sent it, from 1


async def read_files(
    parts: Iterable[NumberedPart], input_modes: Sequence[str], settings: Settings, uploads: UploadStore
) -> list[File | Upload]:
    """Reads the files in the order of the message. Fetching all of them must not take longer than the timeout.

    Uploads are not read; they have another size limit. Raises InvalidParamsError, and ContentTypeNotSupportedError
    for a file that `input_modes` do not include.
    """
    files: list[File | Upload] = []
    remaining_bytes = settings.message.max_total_file_bytes
    try:
        async with asyncio.timeout(settings.fetch.timeout_seconds):
            for number, part in parts:
                if is_upload(part):
                    files.append(await find_upload(part, number, uploads, settings))
                else:
                    files.append(await _read_file(part, number, settings, remaining_bytes))
                    remaining_bytes -= files[-1].size
                check_file(files[-1].content_type, files[-1].name, number, input_modes)
    except TimeoutError:
        raise InvalidParamsError(
            f"part {number}: the files of the message did not come within {settings.fetch.timeout_seconds:g} s"
        ) from None
    return files


async def _read_file(part: Part, number: int, settings: Settings, remaining_bytes: int) -> File:
    """Reads one file. `remaining_bytes` is what is left of the limit for all files of the message."""
    limit = min(settings.message.max_file_bytes, remaining_bytes)
    together = f"; all files of a message may have {settings.message.max_total_file_bytes:,} together"
    try:
        file = (
            _inline_file(part, number)
            if part.WhichOneof("content") == "raw"
            else await _fetch_file(part, number, limit, settings)
        )
        if file.size > limit:
            raise FileRejected(f"{file.name} has {file.size:,} bytes; {limit:,} are allowed")
    except FileRejected as error:
        raise InvalidParamsError(
            f"part {number}: {error}{together if remaining_bytes < settings.message.max_file_bytes else ''}"
        ) from None
    return file


def _inline_file(part: Part, number: int) -> File:
    name = sanitize_file_name(part.filename, f"file-{number}")
    if not part.raw:
        raise FileRejected(f"the file {name} is empty")
    return File(name, part.raw, part.media_type)


async def _fetch_file(part: Part, number: int, limit: int, settings: Settings) -> File:
    if not part.url.lower().startswith(("data:", "http://", "https://")):
        raise ContentTypeNotSupportedError(
            f"part {number}: only http(s) addresses, data: URIs and uploads are read; or send the file's content"
        )
    file = await fetch_source(part.url, Fetcher.from_settings(settings), name=part.filename, max_bytes=limit)
    return dataclasses.replace(file, media_type=part.media_type or file.media_type)
