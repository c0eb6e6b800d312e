"""Maps botocore's errors to AwsError. It is used wherever agentfn calls AWS."""

import contextlib
from collections.abc import Iterator

from botocore.exceptions import BotoCoreError, ClientError

from agentfn.errors import AwsError


@contextlib.contextmanager
def map_aws_errors() -> Iterator[None]:
    """Raises AwsError, with botocore's error as its cause, for a call that got no response or an error response."""
    try:
        yield
    except ClientError as error:
        raise AwsError(f"{error.operation_name} failed with {error.response['Error']['Code']}") from error
    except BotoCoreError as error:
        raise AwsError(f"a call of AWS failed with {type(error).__name__}") from error
