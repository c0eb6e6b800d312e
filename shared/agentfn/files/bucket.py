"""The S3 bucket with the files of one agent's tasks. Callers get files by presigned URLs."""

import io
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from botocore.exceptions import ClientError

from agentfn.aws_errors import map_aws_errors
from agentfn.errors import StoredDataError
from agentfn.files.presign import PresignedPost, PresignedUrl, credentials_expiry, describe_post, describe_url
from agentfn.tools.workspaces.file_names import content_disposition

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

# S3 answers 403 for a missing object to a role that may not list the bucket.
NOT_FOUND_CODES = ("NoSuchKey", "404", "AccessDenied", "403")
PRECONDITION_CODES = ("PreconditionFailed", "412")
DEFAULT_MEDIA_TYPE = "application/octet-stream"


@dataclass(frozen=True)
class ObjectInfo:
    """What S3 tells of an object. `size` is in bytes; `etag` changes with the content; `metadata` values are ASCII."""

    key: str
    size: int
    etag: str
    media_type: str = DEFAULT_MEDIA_TYPE
    metadata: Mapping[str, str] = field(default_factory=dict)


class Bucket:
    """Reads, writes and presigns objects. `client` makes the S3 client at the first call.

    Every method raises AwsError where S3 cannot be reached or refuses the request. The presigning methods send no
    request; the others block.
    """

    def __init__(self, client: "Callable[[], S3Client]", name: str, link_lifetime_seconds: int) -> None:
        self._client = client
        self._name = name
        self._link_lifetime_seconds = link_lifetime_seconds

    @map_aws_errors()
    def put(self, key: str, content: bytes | Path, media_type: str = DEFAULT_MEDIA_TYPE, file_name: str = "") -> None:
        """Uploads an object. The content of a path is streamed, not loaded into memory."""
        named: Any = {"ContentDisposition": content_disposition(file_name, media_type)} if file_name else {}
        with io.BytesIO(content) if isinstance(content, bytes) else content.open("rb") as body:
            self._client().put_object(Bucket=self._name, Key=key, Body=body, ContentType=media_type, **named)

    @map_aws_errors()
    def get(self, key: str) -> bytes:
        """The content of an object. Raises StoredDataError where it does not exist any more: objects expire."""
        try:
            return self._client().get_object(Bucket=self._name, Key=key)["Body"].read()
        except ClientError as error:
            _check_stored(key, error)
            raise

    @map_aws_errors()
    def download(self, key: str, path: Path) -> None:
        """Downloads an object in parts; a part that breaks off is requested again.

        Raises StoredDataError where the object does not exist any more, and OSError where the disk is full.
        """
        from boto3.s3.transfer import TransferConfig

        try:
            with path.open("wb") as file:
                config = TransferConfig(use_threads=False)
                self._client().download_fileobj(self._name, key, file, Config=config)
        except ClientError as error:
            _check_stored(key, error)
            raise

    @map_aws_errors()
    def get_info(self, key: str) -> ObjectInfo | None:
        """None where the object does not exist."""
        try:
            head = self._client().head_object(Bucket=self._name, Key=key)
        except ClientError as error:
            if error.response["Error"]["Code"] in NOT_FOUND_CODES:
                return None
            raise
        media_type = head.get("ContentType", DEFAULT_MEDIA_TYPE)
        return ObjectInfo(key, head["ContentLength"], head["ETag"], media_type, head["Metadata"])

    @map_aws_errors()
    def copy(self, source: ObjectInfo, key: str, media_type: str, file_name: str) -> None:
        """Copies an object inside the bucket, without its metadata.

        Raises StoredDataError where the source does not exist any more, or has been replaced since.
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
            _check_stored(source.key, error)
            raise

    def presigned_url(self, key: str) -> str:
        return self.presign_download(key).url

    @map_aws_errors()
    def presign_download(self, key: str) -> PresignedUrl:
        client = self._client()
        credentials_end = credentials_expiry(client)
        url = client.generate_presigned_url(
            "get_object", Params={"Bucket": self._name, "Key": key}, ExpiresIn=self._link_lifetime_seconds
        )
        return describe_url(url, credentials_end)

    @map_aws_errors()
    def presign_upload(
        self, key: str, media_type: str, max_bytes: int, lifetime_seconds: int, metadata: Mapping[str, str]
    ) -> PresignedPost:
        """A form that uploads one object with this key, type and metadata, of 1 to `max_bytes` bytes."""
        client = self._client()
        credentials_end = credentials_expiry(client)
        lifetime_seconds = min(lifetime_seconds, self._link_lifetime_seconds)
        fields = {"Content-Type": media_type, **{f"x-amz-meta-{name}": value for name, value in metadata.items()}}
        conditions = [*({name: value} for name, value in fields.items()), ["content-length-range", 1, max_bytes]]
        post = client.generate_presigned_post(self._name, key, fields, conditions, lifetime_seconds)
        return describe_post(post["url"], post["fields"], lifetime_seconds, credentials_end)


def _check_stored(key: str, error: ClientError) -> None:
    """Raises StoredDataError where the error says that the object was deleted or replaced."""
    code = error.response["Error"]["Code"]
    if code in PRECONDITION_CODES:
        raise StoredDataError(f"the file {key} was replaced in the bucket") from error
    if code in NOT_FOUND_CODES:
        raise StoredDataError(f"the file {key} is no longer in the bucket") from error
