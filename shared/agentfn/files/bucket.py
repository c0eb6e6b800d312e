"""The objects of one agent: stored under keys of ours, handed out by links that are signed when they are read."""

import io
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from botocore.exceptions import ClientError

from agentfn.errors import StorageError
from agentfn.files.presign import Form, SignedLink, end_of, form_of, link_of
from agentfn.tools.workspaces.file_names import content_disposition

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client


GONE = ("NoSuchKey", "404", "AccessDenied", "403")  # a role that may not list is told 403 for what is not there
CHANGED = ("PreconditionFailed", "412")
BYTES = "application/octet-stream"


@dataclass(frozen=True)
class Held:
    """What an object is. `tag` is another one when its content is; `notes` were stored with it, all of them ASCII."""

    key: str
    size: int
    tag: str
    media_type: str = BYTES
    notes: Mapping[str, str] = field(default_factory=dict)


class Bucket:
    """`client` is made at the first call; `link_seconds` is how long a link lives. `link`, `sign` and `form` make no
    call: it is arithmetic. The other methods block.
    """

    def __init__(self, client: "Callable[[], S3Client]", name: str, link_seconds: int) -> None:
        self._client = client
        self._name = name
        self._link_seconds = link_seconds

    def put(self, key: str, content: bytes | Path, media_type: str = BYTES, name: str = "") -> None:
        """A path's content goes piece by piece; it is never in memory as a whole."""
        named: Any = {"ContentDisposition": content_disposition(name, media_type)} if name else {}
        with io.BytesIO(content) if isinstance(content, bytes) else content.open("rb") as body:
            self._client().put_object(Bucket=self._name, Key=key, Body=body, ContentType=media_type, **named)

    def get(self, key: str) -> bytes:
        """Raises StorageError where the object is gone: its life in the bucket is limited."""
        try:
            return self._client().get_object(Bucket=self._name, Key=key)["Body"].read()
        except ClientError as error:
            raise self._gone(key, error) from error

    def download(self, key: str, path: Path) -> None:
        """Piece by piece, and a piece that breaks off again. Raises StorageError where the object is gone, and OSError
        where the disk does not take it.
        """
        from boto3.s3.transfer import TransferConfig

        try:
            with path.open("wb") as file:
                config = TransferConfig(use_threads=False)
                self._client().download_fileobj(self._name, key, file, Config=config)
        except ClientError as error:
            raise self._gone(key, error) from error

    def held(self, key: str) -> Held | None:
        """None where there is no such object."""
        try:
            head = self._client().head_object(Bucket=self._name, Key=key)
        except ClientError as error:
            if error.response["Error"]["Code"] in GONE:
                return None
            raise
        return Held(key, head["ContentLength"], head["ETag"], head.get("ContentType", BYTES), head["Metadata"])

    def copy(self, held: Held, key: str, media_type: str, name: str) -> None:
        """Inside the bucket: no byte of it comes here. What was noted with the object is left behind.

        Raises StorageError where the object is gone, or another one by now.
        """
        try:
            self._client().copy_object(
                Bucket=self._name,
                Key=key,
                CopySource={"Bucket": self._name, "Key": held.key},
                CopySourceIfMatch=held.tag,
                MetadataDirective="REPLACE",
                ContentType=media_type,
                ContentDisposition=content_disposition(name, media_type),
            )
        except ClientError as error:
            raise self._gone(held.key, error) from error

    def link(self, key: str) -> str:
        return self.sign(key).url

    def sign(self, key: str) -> SignedLink:
        client = self._client()
        known = end_of(client)
        place = {"Bucket": self._name, "Key": key}
        return link_of(client.generate_presigned_url("get_object", Params=place, ExpiresIn=self._link_seconds), known)

    def form(self, key: str, media_type: str, most: int, seconds: int, notes: Mapping[str, str]) -> Form:
        """For one object of that key and type with 1 to `most` bytes; S3 takes nothing else with it."""
        client = self._client()
        known = end_of(client)
        seconds = min(seconds, self._link_seconds)
        fields = {"Content-Type": media_type, **{f"x-amz-meta-{name}": note for name, note in notes.items()}}
        exactly = [{name: value} for name, value in fields.items()]
        made = client.generate_presigned_post(
            self._name, key, fields, [*exactly, ["content-length-range", 1, most]], seconds
        )
        return form_of(made["url"], made["fields"], seconds, known)

    def _gone(self, key: str, error: ClientError) -> Exception:
        code = error.response["Error"]["Code"]
        if code in CHANGED:
            return StorageError(f"the file {key} was replaced in the bucket")
        return StorageError(f"the file {key} is no longer in the bucket") if code in GONE else error
