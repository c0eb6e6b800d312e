"""The objects of one agent: stored under keys of ours, handed out by links that are signed when they are read."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from botocore.exceptions import ClientError

from agentfn.errors import StorageError
from agentfn.tools.names import disposition

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client


GONE = ("NoSuchKey", "404", "AccessDenied", "403")  # a role that may not list is told 403 for what is not there


class Bucket:
    """`client` is made at the first call; `link_seconds` is how long a link lives. All methods but `link` block."""

    def __init__(self, client: "Callable[[], S3Client]", name: str, link_seconds: int) -> None:
        self._client = client
        self._name = name
        self._link_seconds = link_seconds

    def put(self, key: str, content: bytes, media_type: str = "application/octet-stream", name: str = "") -> None:
        named = {"ContentDisposition": disposition(name, media_type)} if name else {}
        self._client().put_object(Bucket=self._name, Key=key, Body=content, ContentType=media_type, **named)  # type: ignore[arg-type]

    def get(self, key: str) -> bytes:
        """Raises StorageError where the object is gone: its life in the bucket is limited."""
        try:
            return self._client().get_object(Bucket=self._name, Key=key)["Body"].read()
        except ClientError as error:
            if error.response["Error"]["Code"] in GONE:
                raise StorageError(f"the file {key} is no longer in the bucket") from error
            raise

    def link(self, key: str) -> str:
        """A link that anyone who has it can download from until it expires. Signing is arithmetic: no call is made."""
        return self._client().generate_presigned_url(
            "get_object", Params={"Bucket": self._name, "Key": key}, ExpiresIn=self._link_seconds
        )
