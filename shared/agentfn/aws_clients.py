"""The process's boto3 clients. boto3 is imported, and each client created, at its first use."""

import functools
from typing import TYPE_CHECKING, Any

from agentfn.aws_errors import map_aws_errors

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client


@functools.cache
def aws_client(service: str) -> Any:
    """The one client of an AWS service. `aws_client.cache_clear()` drops all clients.

    Timeouts are short, because the services are in the function's own region.
    """
    import boto3
    from botocore.config import Config

    retries: Any = {"mode": "standard", "total_max_attempts": 4}
    config = Config(connect_timeout=3, read_timeout=10, retries=retries, tcp_keepalive=True)
    if service == "s3":
        # SigV4 on a regional host: in some regions boto3 presigns with SigV2 by default.
        config = config.merge(Config(signature_version="s3v4", s3={"addressing_style": "virtual"}, read_timeout=60))
    return boto3.client(service, config=config)  # type: ignore[call-overload]


def s3_client() -> "S3Client":
    return aws_client("s3")  # type: ignore[no-any-return]


def read_secret(arn: str) -> str:
    """The text of a secret in Secrets Manager. Raises AwsError."""
    with map_aws_errors():
        return str(aws_client("secretsmanager").get_secret_value(SecretId=arn)["SecretString"])
