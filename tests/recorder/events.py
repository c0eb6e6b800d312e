"""Events as API Gateway and SQS give them to Lambda, and Lambda's context, with nothing in them that varies."""

import base64
from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qs

DOMAIN = "abc123.execute-api.eu-central-1.amazonaws.com"


class Context:
    """Lambda's context. The time that remains is always the same."""

    function_name = "agent"
    memory_limit_in_mb = 1024
    invoked_function_arn = "arn:aws:lambda:eu-central-1:123456789012:function:agent"
    aws_request_id = "request"

    def __init__(self, seconds: float = 60.0) -> None:
        self._milliseconds = int(seconds * 1000)

    def get_remaining_time_in_millis(self) -> int:
        return self._milliseconds


def rest_api(method: str, path: str, query: str, headers: Mapping[str, str], body: str | bytes | None) -> Any:
    """Payload version 1."""
    sent = {"Host": DOMAIN, "X-Forwarded-Proto": "https", **headers}
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
            "path": f"/prod{path}",
            "stage": "prod",
            "domainName": DOMAIN,
            "requestId": "request",
            "identity": {"sourceIp": "127.0.0.1"},
        },
        **_body(body),
    }


def http_api(method: str, path: str, query: str, headers: Mapping[str, str], body: str | bytes | None) -> Any:
    """Payload version 2.0."""
    sent = {"host": DOMAIN, "x-forwarded-proto": "https", **headers}
    http = {"method": method, "path": path, "protocol": "HTTP/1.1", "sourceIp": "127.0.0.1"}
    return {
        "version": "2.0",
        "routeKey": "$default",
        "rawPath": path,
        "rawQueryString": query,
        "headers": {name.lower(): value for name, value in sent.items()},
        "requestContext": {"domainName": DOMAIN, "stage": "$default", "requestId": "request", "http": http},
        **_body(body),
    }


def sqs(message: Mapping[str, Any]) -> Any:
    """A batch of one message, as `receive_message` gave it."""
    record = {
        "messageId": message["MessageId"],
        "receiptHandle": message["ReceiptHandle"],
        "body": message["Body"],
        "attributes": dict(message.get("Attributes", {})),
        "messageAttributes": {},
        "eventSource": "aws:sqs",
        "eventSourceARN": "arn:aws:sqs:eu-central-1:123456789012:agent",
        "awsRegion": "eu-central-1",
    }
    return {"Records": [record]}


def _body(body: str | bytes | None) -> dict[str, Any]:
    if isinstance(body, bytes):
        return {"body": base64.b64encode(body).decode(), "isBase64Encoded": True}
    return {"body": body, "isBase64Encoded": False}
