"""The context object and the events that Lambda passes to a handler."""

import base64
import json
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs
from uuid import uuid4

DEFAULT_DOMAIN = "abc123.execute-api.eu-central-1.amazonaws.com"


@dataclass
class LocalLambdaContext:
    """A context object. `seconds` is the remaining time at its creation."""

    seconds: float = 900.0
    function_name: str = "agent"
    memory_limit_in_mb: int = 1024
    invoked_function_arn: str = "arn:aws:lambda:eu-central-1:123456789012:function:agent"
    aws_request_id: str = field(default_factory=lambda: str(uuid4()))
    _started: float = field(default_factory=lambda: time.monotonic())

    def get_remaining_time_in_millis(self) -> int:
        return max(0, int((self.seconds - (time.monotonic() - self._started)) * 1000))


def rest_event(
    method: str,
    path: str,
    body: str | bytes | None = None,
    headers: Mapping[str, str] | None = None,
    *,
    query: str = "",
    stage: str = "prod",
    domain: str = DEFAULT_DOMAIN,
) -> dict[str, Any]:
    """A REST API's proxy event (payload version 1). Bytes are base64-encoded.

    Source: https://docs.aws.amazon.com/apigateway/latest/developerguide/set-up-lambda-proxy-integrations.html
    """
    sent = {"Host": domain, "X-Forwarded-Proto": "https", **_content_length(body), **(headers or {})}
    parameters = parse_qs(query, keep_blank_values=True)
    return {
        "resource": "/{proxy+}",
        "path": path,
        "httpMethod": method,
        "headers": sent,
        "multiValueHeaders": {name: [value] for name, value in sent.items()},
        "queryStringParameters": {name: values[-1] for name, values in parameters.items()} or None,
        "multiValueQueryStringParameters": parameters or None,
        "pathParameters": {"proxy": path.lstrip("/")},
        "stageVariables": None,
        "requestContext": {
            "resourcePath": "/{proxy+}",
            "httpMethod": method,
            "path": f"/{stage}{path}",
            "stage": stage,
            "domainName": domain,
            "requestId": str(uuid4()),
            "identity": {"sourceIp": "127.0.0.1"},
        },
        **_body_fields(body),
    }


def http_event(
    method: str,
    path: str,
    body: str | bytes | None = None,
    headers: Mapping[str, str] | None = None,
    *,
    query: str = "",
    stage: str = "$default",
    domain: str = DEFAULT_DOMAIN,
) -> dict[str, Any]:
    """An HTTP API's event (payload version 2.0), whose path contains the stage.

    Source: https://docs.aws.amazon.com/apigateway/latest/developerguide/http-api-develop-integrations-lambda.html
    """
    whole = path if stage == "$default" else f"/{stage}{path}"
    sent = {"host": domain, "x-forwarded-proto": "https", **_content_length(body), **(headers or {})}
    return {
        "version": "2.0",
        "routeKey": "$default",
        "rawPath": whole,
        "rawQueryString": query,
        "headers": {name.lower(): value for name, value in sent.items()},
        "requestContext": {
            "domainName": domain,
            "stage": stage,
            "requestId": str(uuid4()),
            "http": {"method": method, "path": whole, "protocol": "HTTP/1.1", "sourceIp": "127.0.0.1"},
        },
        **_body_fields(body),
    }


def queue_event(*messages: Mapping[str, Any]) -> dict[str, Any]:
    """The event of Lambda's event source for messages of SQS's `receive_message`."""
    return {
        "Records": [
            {
                "messageId": message["MessageId"],
                "receiptHandle": message["ReceiptHandle"],
                "body": message["Body"],
                "attributes": dict(message.get("Attributes", {})),
                "messageAttributes": {},
                "eventSource": "aws:sqs",
                "eventSourceARN": "arn:aws:sqs:eu-central-1:123456789012:agent",
                "awsRegion": "eu-central-1",
            }
            for message in messages
        ]
    }


def rpc_event(method: str, params: Any, headers: Mapping[str, str] | None = None, **rest: Any) -> dict[str, Any]:
    """A JSON-RPC call through a REST API. Methods of protocol 1.0 get its version header."""
    version = {"A2A-Version": "1.0"} if "/" not in method else {}
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
    return rest_event("POST", "/", body, {"Content-Type": "application/json", **version, **(headers or {})}, **rest)


def _body_fields(body: str | bytes | None) -> dict[str, Any]:
    if isinstance(body, bytes):
        return {"body": base64.b64encode(body).decode(), "isBase64Encoded": True}
    return {"body": body, "isBase64Encoded": False}


def _content_length(body: str | bytes | None) -> dict[str, str]:
    size = len(body.encode() if isinstance(body, str) else body or b"")
    return {"Content-Length": str(size)} if size else {}
