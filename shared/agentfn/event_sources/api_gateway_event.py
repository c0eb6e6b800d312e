"""Normalizes API Gateway's events: removes the differences of payload versions, stages and base paths."""

import base64
import binascii
import re

from agentfn.event_sources.event_source import Event

HOST_PATTERN = re.compile(r"[\w.-]+(:\d{1,5})?", re.ASCII)
INVALID_JSON = "not base64 and not text"  # replaces a body that cannot be decoded: every route reports a parse error


def is_api_gateway_event(event: Event) -> bool:
    return "requestContext" in event and ("resource" in event or "version" in event)


def normalize_event(event: Event, base_path: str) -> Event:
    """The event with a path without stage, base path and trailing slash, and with a text body.

    A REST API leaves the stage out of the path, an HTTP API puts it in; a base path mapping stays in both.
    """
    path = _agent_path(event, base_path)
    settled = {**event, **_drop_invalid_headers(event), **_decode_body(event)}
    if _is_v2(event):
        http = {**event["requestContext"]["http"], "path": path}
        return settled | {"rawPath": path, "requestContext": {**event["requestContext"], "http": http}}
    return settled | {"path": path}


def base_url(event: Event, public_url: str | None, base_path: str) -> str:
    """The agent's public URL: `public_url` if configured, else from the event's domain and stage."""
    if public_url:
        return public_url
    context = event["requestContext"]
    domain = context.get("domainName") or _lowercase_headers(event).get("host", "localhost")
    own = ".execute-api." in domain  # URLs on API Gateway's domain contain the stage
    stage = context.get("stage", "")
    prefix = f"/{stage}" if own and stage and stage != "$default" else ""
    return f"https://{domain}{prefix}{base_path}"


def _is_v2(event: Event) -> bool:
    return bool(event.get("version") == "2.0")


def _agent_path(event: Event, base_path: str) -> str:
    context = event["requestContext"]
    if _is_v2(event):
        path, stage = context["http"]["path"], context.get("stage", "")
        path = _strip_prefix(path, f"/{stage}") if stage and stage != "$default" else path
    else:
        path = event.get("path") or "/"
    return _strip_prefix(path, base_path).rstrip("/") or "/"


def _strip_prefix(path: str, prefix: str) -> str:
    return path[len(prefix) :] if prefix and (path == prefix or path.startswith(prefix + "/")) else path


def _decode_body(event: Event) -> Event:
    if not event.get("isBase64Encoded"):
        return {}
    try:
        text = base64.b64decode(event.get("body") or "", validate=True).decode()
    except (binascii.Error, ValueError):  # UnicodeDecodeError is a ValueError
        text = INVALID_JSON
    return {"body": text, "isBase64Encoded": False}


def _drop_invalid_headers(event: Event) -> Event:
    """The headers without those that make no valid URL, which break Mangum and Starlette. The port is not used."""
    headers = {name: value for name, value in (event.get("headers") or {}).items() if _is_valid_header(name, value)}
    several = {
        name: values
        for name, values in (event.get("multiValueHeaders") or {}).items()
        if _is_valid_header(name, *values)
    }
    return {"headers": headers, "multiValueHeaders": several}


def _is_valid_header(name: str, *values: str) -> bool:
    match name.lower():
        case "host":
            return len(values) == 1 and bool(HOST_PATTERN.fullmatch(values[0]))
        case "x-forwarded-proto":
            return values in (("http",), ("https",))
        case other:
            return other != "x-forwarded-port"


def _lowercase_headers(event: Event) -> dict[str, str]:
    return {name.lower(): value for name, value in (event.get("headers") or {}).items()}
