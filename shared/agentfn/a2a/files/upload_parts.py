"""Parts of a message that refer to an upload, with `upload:<id>` as their URL."""

import asyncio

from a2a.types import Part
from a2a.utils.errors import InvalidParamsError

from agentfn.files import Upload, UploadStore
from agentfn.settings import Settings

UPLOAD_SCHEME = "upload:"
UPLOAD_NOT_FOUND = (
    "there is no such upload: nothing was sent to it, or it has expired. Ask for another one with POST /uploads"
)


def is_upload(part: Part) -> bool:
    return part.url[: len(UPLOAD_SCHEME)].lower() == UPLOAD_SCHEME


async def find_upload(part: Part, number: int, uploads: UploadStore, settings: Settings) -> Upload:
    """Finds the caller's upload. Raises InvalidParamsError, which names part `number`, if there is none or its size is
    not allowed.
    """
    upload_id = part.url[len(UPLOAD_SCHEME) :]
    upload = await asyncio.to_thread(uploads.find, upload_id, part.filename, part.media_type)
    if upload is None:
        raise InvalidParamsError(f"part {number}: {UPLOAD_NOT_FOUND}")
    if not upload.size:
        raise InvalidParamsError(f"part {number}: the file {upload.name} is empty")
    most = settings.message.max_upload_bytes
    if upload.size > most:
        raise InvalidParamsError(f"part {number}: {upload.name} has {upload.size:,} bytes; {most:,} are allowed")
    return upload
