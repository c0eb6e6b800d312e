"""The objects of one agent: stored under keys of ours, handed out by links that are signed when they are read."""

import io
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from botocore.exceptions import ClientError

from agentfn.errors import StoredDataError
from agentfn.files.presign import PresignedPost, PresignedUrl, credentials_expiry, describe_post, describe_url
from agentfn.tools.workspaces.file_names import content_disposition

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client


NOT_FOUND_CODES = (
    "NoSuchKey",
    "404",
    "AccessDenied",
    "403",
)  # a role that may not list is told 403 for what is not there
PRECONDITION_CODES = ("PreconditionFailed", "412")
DEFAULT_MEDIA_TYPE = "application/octet-stream"


@dataclass(frozen=True)
class ObjectInfo:
    """What an object is. `tag` is another one when its content is; `notes` were stored with it, all of them ASCII."""

    key: str
    size: int
    etag: str
    media_type: str = DEFAULT_MEDIA_TYPE
    metadata: Mapping[str, str] = field(default_factory=dict)


class Bucket:
    """`client` is made at the first call; `link_seconds` is how long a link lives. `link`, `sign` and `form` make no
    call: it is arithmetic. The other methods block.
    """

    def __init__(self, client: "Callable[[], S3Client]", name: str, link_lifetime_seconds: int) -> None:
        self._client = client
        self._name = name
        self._link_lifetime_seconds = link_lifetime_seconds

    def put(self, key: str, content: bytes | Path, media_type: str = DEFAULT_MEDIA_TYPE, file_name: str = "") -> None:
        """A path's content goes piece by piece; it is never in memory as a whole."""
        named: Any = {"ContentDisposition": content_disposition(file_name, media_type)} if file_name else {}
        with io.BytesIO(content) if isinstance(content, bytes) else content.open("rb") as body:
            self._client().put_object(Bucket=self._name, Key=key, Body=body, ContentType=media_type, **named)

    def get(self, key: str) -> bytes:
        """Raises StorageError where the object is gone: its life in the bucket is limited."""
        try:
            return self._client().get_object(Bucket=self._name, Key=key)["Body"].read()
        except ClientError as error:
            raise self._map_client_error(key, error) from error

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
            raise self._map_client_error(key, error) from error

    def get_info(self, key: str) -> ObjectInfo | None:
        """None where there is no such object."""
        try:
            head = self._client().head_object(Bucket=self._name, Key=key)
        except ClientError as error:
            if error.response["Error"]["Code"] in NOT_FOUND_CODES:
                return None
            raise
        return ObjectInfo(
            key, head["ContentLength"], head["ETag"], head.get("ContentType", DEFAULT_MEDIA_TYPE), head["Metadata"]
        )

    def copy(self, source: ObjectInfo, key: str, media_type: str, file_name: str) -> None:
        """Inside the bucket: no byte of it comes here. What was noted with the object is left behind.

        Raises StorageError where the object is gone, or another one by now.
        """
        try:
            self._client().copy_object(
                Bucket=self._name,
                Key=key,
                CopySource={"Bucket": self._name, "Key": source.key},
                CopySourceIfMatch=source.etag,
                MetadataDirective="REPLACE",
                ContentType=media_type,
                ContentDisposition=content_disposition(file_name, media_type),
            )
        except ClientError as error:
            raise self._map_client_error(source.key, error) from error

    def presigned_url(self, key: str) -> str:
        return self.presign_download(key).url

    def presign_download(self, key: str) -> PresignedUrl:
        client = self._client()
        known = credentials_expiry(client)
        place = {"Bucket": self._name, "Key": key}
        return describe_url(
            client.generate_presigned_url("get_object", Params=place, ExpiresIn=self._link_lifetime_seconds), known
        )

    def presign_upload(
        self, key: str, media_type: str, max_bytes: int, lifetime_seconds: int, metadata: Mapping[str, str]
    ) -> PresignedPost:
        """For one object of that key and type with 1 to `most` bytes; S3 takes nothing else with it."""
        client = self._client()
        known = credentials_expiry(client)
        lifetime_seconds = min(lifetime_seconds, self._link_lifetime_seconds)
        fields = {"Content-Type": media_type, **{f"x-amz-meta-{name}": note for name, note in metadata.items()}}
        exactly = [{name: value} for name, value in fields.items()]
        made = client.generate_presigned_post(
            self._name, key, fields, [*exactly, ["content-length-range", 1, max_bytes]], lifetime_seconds
        )
        return describe_post(made["url"], made["fields"], lifetime_seconds, known)

    def _map_client_error(self, key: str, error: ClientError) -> Exception:
        code = error.response["Error"]["Code"]
        if code in PRECONDITION_CODES:
            return StoredDataError(f"the file {key} was replaced in the bucket")
        return StoredDataError(f"the file {key} is no longer in the bucket") if code in NOT_FOUND_CODES else error
