"""Parts of a message that refer to an upload: `upload:<id>` in the place of a file's address."""

import asyncio

from a2a.types import Part
from a2a.utils.errors import InvalidParamsError

from agentfn.files import Upload, Uploads
from agentfn.settings import Settings

SCHEME = "upload:"
NOT_THERE = "there is no such upload: nothing was sent to it, or it has expired. Ask for another one with POST /uploads"


def is_upload(part: Part) -> bool:
    return part.url[: len(SCHEME)].lower() == SCHEME


async def uploaded(part: Part, number: int, uploads: Uploads, settings: Settings) -> Upload:
    """The caller's own, as it lies in the bucket now. Raises InvalidParamsError for part number `number`."""
    upload_id = part.url[len(SCHEME) :]
    upload = await asyncio.to_thread(uploads.find, upload_id, part.filename, part.media_type)
    if upload is None:
        raise InvalidParamsError(f"part {number}: {NOT_THERE}")
    if not upload.size:
        raise InvalidParamsError(f"part {number}: the file {upload.name} is empty")
    most = settings.max_upload_size
    if upload.size > most:
        raise InvalidParamsError(f"part {number}: {upload.name} has {upload.size:,} bytes; {most:,} are allowed")
    return upload
