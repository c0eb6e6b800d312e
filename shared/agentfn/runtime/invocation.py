"""One invocation: its event, and the handler's context object."""

import json
import os
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

from agentfn.runtime.fault import map_to_fault

CLIENT_FIELDS = ("installation_id", "app_title", "app_version_name", "app_version_code", "app_package_name")


@dataclass(frozen=True)
class Invocation:
    """An event of the Runtime API. Header names are in lower case."""

    body: bytes
    headers: Mapping[str, str]

    @property
    def id(self) -> str:
        return self.headers["lambda-runtime-aws-request-id"]

    def event(self) -> Any:
        """The parsed event. Raises Fault if it is not JSON."""
        with map_to_fault("Runtime.UnmarshalError", "Unable to unmarshal input: "):
            return json.loads(self.body)

    def context(self) -> "InvocationContext":
        """The context object. Raises Fault for headers that cannot be parsed."""
        client, identity = (self._json_header(name) for name in ("client-context", "cognito-identity"))
        return InvocationContext(
            aws_request_id=self.id,
            invoked_function_arn=self.headers.get("lambda-runtime-invoked-function-arn", ""),
            client_context=client and _client_context(client),
            identity=SimpleNamespace(
                cognito_identity_id=(identity or {}).get("cognitoIdentityId"),
                cognito_identity_pool_id=(identity or {}).get("cognitoIdentityPoolId"),
            ),
            tenant_id=self.headers.get("lambda-runtime-aws-tenant-id"),
            deadline=int(self.headers["lambda-runtime-deadline-ms"]),
        )

    def _json_header(self, name: str) -> Any:
        text = self.headers.get(f"lambda-runtime-{name}")
        if not text:
            return None
        with map_to_fault("Runtime.LambdaContextUnmarshalError", f"Unable to parse {name} JSON: "):
            return json.loads(text)


def _environment_field(name: str) -> Any:
    return field(default_factory=lambda: os.environ.get(name, ""))


@dataclass(frozen=True)
class InvocationContext:
    """The context object, with the attributes of Lambda's own. `deadline` is in milliseconds since 1970.

    Source: https://docs.aws.amazon.com/lambda/latest/dg/python-context.html
    """

    aws_request_id: str
    invoked_function_arn: str
    client_context: Any
    identity: Any
    tenant_id: str | None
    deadline: int
    function_name: str = _environment_field("AWS_LAMBDA_FUNCTION_NAME")
    function_version: str = _environment_field("AWS_LAMBDA_FUNCTION_VERSION")
    memory_limit_in_mb: str = _environment_field("AWS_LAMBDA_FUNCTION_MEMORY_SIZE")
    log_group_name: str = _environment_field("AWS_LAMBDA_LOG_GROUP_NAME")
    log_stream_name: str = _environment_field("AWS_LAMBDA_LOG_STREAM_NAME")

    def get_remaining_time_in_millis(self) -> int:
        return max(0, self.deadline - int(time.time() * 1000))


def _client_context(sent: dict[str, Any]) -> Any:
    client = sent.get("client") or {}
    return SimpleNamespace(
        custom=sent.get("custom"),
        env=sent.get("env"),
        client=SimpleNamespace(**{name: client.get(name) for name in CLIENT_FIELDS}),
    )
