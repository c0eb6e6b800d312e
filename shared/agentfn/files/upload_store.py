"""Objects that callers put into the bucket themselves, past the function: each under a key that only he can name."""

import re
from dataclasses import dataclass
from urllib.parse import quote, unquote
from uuid import uuid4

from agentfn.files.bucket import Bucket, ObjectInfo
from agentfn.files.presign import PresignedPost
from agentfn.tools.workspaces.file_names import sanitize_file_name, sanitize_media_type

UPLOADS_PREFIX = "_uploads"  # no agent has such a name; infra/storage.yaml has it emptied after a day
UPLOAD_LIFETIME_SECONDS = 900
UPLOAD_ID = re.compile(r"[0-9a-f]{32}")
FILE_NAME_KEY = "name"  # the note that a file's name is kept in, as it is in a URL: an object's notes are ASCII


@dataclass(frozen=True)
class Upload:
    """A file whose content is in the bucket already."""

    name: str
    content_type: str
    source: ObjectInfo

    @property
    def size(self) -> int:
        return self.source.size


class UploadStore:
    """Those of one caller of one agent."""

    def __init__(self, bucket: Bucket, agent: str, owner: str) -> None:
        self._bucket = bucket
        self._prefix = f"{UPLOADS_PREFIX}/{agent}/{owner}/"

    def create_form(self, name: str, media_type: str, max_bytes: int) -> tuple[str, PresignedPost]:
        """A new id, and what an upload of at most that many bytes is made with."""
        upload_id = uuid4().hex
        notes = {FILE_NAME_KEY: quote(sanitize_file_name(name))}
        return upload_id, self._bucket.presign_upload(
            self._prefix + upload_id, media_type, max_bytes, UPLOAD_LIFETIME_SECONDS, notes
        )

    def find(self, upload_id: str, name: str = "", media_type: str = "") -> Upload | None:
        """What was uploaded under that id, called as said here, or else as said before. None where nothing was, or no
        longer is. Blocks.
        """
        held = self._bucket.get_info(self._prefix + upload_id) if UPLOAD_ID.fullmatch(upload_id) else None
        if held is None:
            return None
        called = name or unquote(held.metadata.get(FILE_NAME_KEY, ""))
        return Upload(sanitize_file_name(called), sanitize_media_type(media_type or held.media_type), held)
