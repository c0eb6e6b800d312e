"""Files that callers upload to the bucket directly, without the function. Only their caller can refer to them."""

import re
from dataclasses import dataclass
from urllib.parse import quote, unquote
from uuid import uuid4

from agentfn.files.bucket import Bucket, ObjectInfo
from agentfn.files.presign import PresignedPost
from agentfn.tools.workspaces.file_names import sanitize_file_name, sanitize_media_type

UPLOADS_PREFIX = (
    "_uploads"  # not a valid agent name; a lifecycle rule in infra/storage.yaml deletes its objects after a day
)
UPLOAD_LIFETIME_SECONDS = 900
UPLOAD_ID = re.compile(r"[0-9a-f]{32}")
FILE_NAME_KEY = "name"  # metadata key of the file's name, which is percent-encoded: metadata is ASCII


@dataclass(frozen=True)
class Upload:
    """An uploaded file. `source` is its object in the bucket."""

    name: str
    content_type: str
    source: ObjectInfo

    @property
    def size(self) -> int:
        return self.source.size


class UploadStore:
    """The uploads of one caller of one agent."""

    def __init__(self, bucket: Bucket, agent: str, owner: str) -> None:
        self._bucket = bucket
        self._prefix = f"{UPLOADS_PREFIX}/{agent}/{owner}/"

    def create_form(self, name: str, media_type: str, max_bytes: int) -> tuple[str, PresignedPost]:
        """A new upload id, and the form that uploads a file of at most `max_bytes` bytes."""
        upload_id = uuid4().hex
        metadata = {FILE_NAME_KEY: quote(sanitize_file_name(name))}
        return upload_id, self._bucket.presign_upload(
            self._prefix + upload_id, media_type, max_bytes, UPLOAD_LIFETIME_SECONDS, metadata
        )

    def find(self, upload_id: str, name: str = "", media_type: str = "") -> Upload | None:
        """The upload with that id, None where it does not exist or has expired. Blocks.

        `name` and `media_type` replace those that the form was made with.
        """
        source = self._bucket.get_info(self._prefix + upload_id) if UPLOAD_ID.fullmatch(upload_id) else None
        if source is None:
            return None
        name = name or unquote(source.metadata.get(FILE_NAME_KEY, ""))
        return Upload(sanitize_file_name(name), sanitize_media_type(media_type or source.media_type), source)
