"""Hypothesis strategies for malformed requests: mutated valid ones, and random ones."""

import base64
import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st

from agentfn.testing import http_event, rest_event
from agentfn.testing.stage import auth_headers

TASK = "00000000-0000-4000-8000-000000000000"
OLD_PARTS = [
    {"kind": "text", "text": "Hi!"},
    {"kind": "file", "file": {"bytes": "YQ==", "name": "a", "mimeType": "a/b"}},
]
PARTS = [
    {"text": "Hi!"},
    {"data": {"a": [1, 2.5, None]}},
    {"raw": "YWJj", "filename": "a.txt", "mediaType": "text/plain"},
]
REST_PARTS = [{"text": "Hi!"}, {"file": {"file_with_bytes": "YQ==", "mime_type": "a/b", "name": "a"}}]
REST_OLD = {
    "message": {"messageId": "m", "role": "ROLE_USER", "content": REST_PARTS},
    "configuration": {"blocking": True},
}
SENDING = {
    "message": {
        "messageId": "m",
        "contextId": "c",
        "role": "ROLE_USER",
        "parts": PARTS,
        "metadata": {"skill": ""},
        "referenceTaskIds": [],
        "extensions": ["https://a.example/x"],
    },
    "configuration": {"acceptedOutputModes": ["text/plain"], "historyLength": 1, "returnImmediately": False},
    "metadata": {"a": 1},
    "tenant": "",
}
SENDING_OLD = {
    "message": {"kind": "message", "messageId": "m", "role": "user", "parts": OLD_PARTS, "referenceTaskIds": []},
    "configuration": {"blocking": True, "historyLength": 1, "acceptedOutputModes": ["text/plain"]},
}
PUSH = {
    "url": "https://hook.test/a",
    "id": "p",
    "token": "t",
    "authentication": {"scheme": "Bearer", "credentials": "c"},
}
PUSH_OLD = {**PUSH, "authentication": {"schemes": ["Bearer"], "credentials": "c"}}
LISTING = {
    "pageSize": 2,
    "pageToken": base64.urlsafe_b64encode(b'{"after": "2026-01-01T00:00:00.000000Z#x"}').decode().rstrip("="),
    "contextId": "c",
    "status": "TASK_STATE_COMPLETED",
    "statusTimestampAfter": "2026-01-01T00:00:00Z",
    "historyLength": 0,
    "includeArtifacts": True,
}
METHODS: dict[str, Any] = {
    "SendMessage": SENDING,
    "SendStreamingMessage": SENDING,
    "GetTask": {"id": TASK, "historyLength": 1},
    "ListTasks": LISTING,
    "CancelTask": {"id": TASK},
    "SubscribeToTask": {"id": TASK},
    "CreateTaskPushNotificationConfig": {"taskId": TASK, **PUSH},
    "GetTaskPushNotificationConfig": {"taskId": TASK, "id": "p"},
    "ListTaskPushNotificationConfigs": {"taskId": TASK, "pageSize": 1},
    "DeleteTaskPushNotificationConfig": {"taskId": TASK, "id": "p"},
    "GetExtendedAgentCard": {},
    "message/send": SENDING_OLD,
    "message/stream": SENDING_OLD,
    "tasks/get": {"id": TASK, "historyLength": 0},
    "tasks/cancel": {"id": TASK},
    "tasks/resubscribe": {"id": TASK},
    "tasks/pushNotificationConfig/set": {"taskId": TASK, "pushNotificationConfig": PUSH_OLD},
    "tasks/pushNotificationConfig/get": {"id": TASK, "pushNotificationConfigId": "p"},
    "tasks/pushNotificationConfig/list": {"id": TASK},
    "tasks/pushNotificationConfig/delete": {"id": TASK, "pushNotificationConfigId": "p"},
    "agent/getAuthenticatedExtendedCard": {},
}
MCP: dict[str, Any] = {
    "initialize": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "a", "version": "1"}},
    "ping": {},
    "tools/list": {"cursor": "a"},
    "tools/call": {"name": "count", "arguments": {"file": "data:text/csv;name=a.csv;base64,YQ=="}},
    "notifications/initialized": {},
    "resources/read": {"uri": "file:///etc/passwd"},
}
PATHS = {
    "POST /message:send": SENDING,
    "POST /message:stream": SENDING,
    "GET /tasks": None,
    "GET /tasks/{id}": None,
    "POST /tasks/{id}:cancel": {},
    "GET /tasks/{id}:subscribe": None,
    "POST /tasks/{id}:subscribe": {},
    "POST /tasks/{id}/pushNotificationConfigs": PUSH,
    "GET /tasks/{id}/pushNotificationConfigs": None,
    "GET /tasks/{id}/pushNotificationConfigs/{id}": None,
    "DELETE /tasks/{id}/pushNotificationConfigs/{id}": None,
    "GET /extendedAgentCard": None,
    "POST /v1/message:send": REST_OLD,
    "POST /v1/message:stream": REST_OLD,
    "GET /v1/tasks/{id}": None,
    "POST /v1/tasks/{id}:cancel": {},
    "GET /v1/tasks/{id}:subscribe": None,
    "POST /v1/tasks/{id}:subscribe": None,
    "POST /v1/tasks/{id}/pushNotificationConfigs": {
        "parent": f"tasks/{TASK}",
        "config": {"pushNotificationConfig": PUSH_OLD},
    },
    "GET /v1/tasks/{id}/pushNotificationConfigs": None,
    "GET /v1/tasks/{id}/pushNotificationConfigs/{id}": None,
    "DELETE /v1/tasks/{id}/pushNotificationConfigs/{id}": None,
    "GET /v1/card": None,
    "GET /.well-known/agent-card.json": None,
    "GET /.well-known/agent.json": None,
    "GET /.well-known/jwks.json": None,
    "GET /health": None,
    "GET /healthz": None,
    "GET /files/{id}": None,
    "POST /uploads": {"name": "a.csv", "mediaType": "text/csv", "size": 1},
    "POST /": None,
    "POST /mcp": None,
}
MOUNT = "/{tenant}"  # each path of 1.0 is there again under any first segment

ODD_VALUES = [
    *(
        "",
        " ",
        "\0",
        "\r\nA: b",
        "\u202ea",
        "\ud800",
        "\ufeff",
        "漢",
        "\U0001f600",
        "é",
        "\uf8ffjson:",
        "\uf8ffjson:{",
        "#",
        "##",
    ),
    *(
        "..",
        "../../etc/passwd",
        "%2e%2e%2f",
        "%00",
        "%ff",
        "%",
        "a/b",
        "a#b",
        "msg#m",
        "head",
        "_uploads",
        "$ne",
        "' OR 1=1",
        "{id}",
    ),
    *(
        "null",
        "NaN",
        "-0",
        "1e999",
        "0x10",
        "true",
        "TASK_STATE_WORKING",
        "ROLE_AGENT",
        "ROLE_UNSPECIFIED",
        "2026-13-45T99:99:99Z",
    ),
    *(
        "0001-01-01T00:00:00Z",
        "9999-12-31T23:59:59.999999999Z",
        "-1",
        "99999999999999999999",
        "1.5",
        "application/json",
    ),
    *(
        "data:",
        "data:,",
        "data:;base64,=",
        "data:text/plain;name=%ff;base64,YQ",
        "upload:",
        f"upload:{'0' * 32}",
        "file:///a",
        "http://[",
    ),
    *(
        "http://127.0.0.1/",
        "https://hook.test",
        "http://\ud800",
        "//",
        "YQ",
        "YQ==",
        "Y Q=",
        "-_-_",
        "?",
        f"{TASK}.{'0' * 32}",
        TASK,
    ),
    *("x" * 129, "x" * 257, "x" * 1_025, "é" * 2_049, "x" * 70_000),
]
NUMBERS = [0, -1, 1, 2**31 - 1, 2**31, 2**32, 2**53 + 1, 2**63, 2**64, -(2**63) - 1, 10**400, 0.5, -0.0, 1e308, 5e-324]
NOT_NUMBERS = [float("nan"), float("inf"), float("-inf")]


def deep(levels: int, *, lists: bool = True) -> Any:
    """Nested objects, every second one a list."""
    value: Any = "bottom"
    for level in range(levels):
        value = [value] if lists and level % 2 else {"a": value}
    return value


DEEP = [
    deep(levels, lists=lists) for levels in (10, 19, 22, 27, 31, 36, 42, 48, 60, 150, 600) for lists in (True, False)
]
TEXTS = st.sampled_from(ODD_VALUES) | st.text(max_size=12)
SCALARS = st.none() | st.booleans() | st.sampled_from([*NUMBERS, *NOT_NUMBERS]) | TEXTS
ANYTHING = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3), max_leaves=6
) | st.sampled_from([*DEEP, [[]] * 300, {f"k{n}": n for n in range(300)}])


@dataclass(frozen=True)
class DuplicateKey:
    """A JSON member that occurs twice, which a dict cannot hold."""

    first: Any
    second: Any


def value_paths(shape: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield path
    items = shape.items() if isinstance(shape, dict) else enumerate(shape) if isinstance(shape, list) else ()
    for name, value in items:
        yield from value_paths(value, (*path, name))


def change_at(shape: Any, path: tuple[Any, ...], kind: str, value: Any) -> Any:
    """A copy of `shape` with the value at `path` replaced, removed, duplicated, or with another member beside it."""
    if not path:
        if kind == "beside" and isinstance(shape, dict):
            return {**shape, "extra" if not isinstance(value, str) else value: value}
        return shape if kind in ("gone", "twice") else value
    name, *rest = path
    copy: Any = dict(shape) if isinstance(shape, dict) else list(shape)
    if not rest and kind == "gone":
        del copy[name]
    elif not rest and kind == "twice":
        copy[name] = DuplicateKey(copy[name], value)
    elif not rest and kind == "many":
        copy[name] = [copy[name]] * 150
    else:
        copy[name] = change_at(copy[name], tuple(rest), kind, value)
    return copy


def write_json(value: Any) -> str:
    """Writes JSON, including values that JSON does not allow."""
    match value:
        case dict():
            members = []
            for name, item in value.items():
                told = (item.first, item.second) if isinstance(item, DuplicateKey) else (item,)
                members += [f"{json.dumps(name)}:{write_json(one)}" for one in told]
            return "{" + ",".join(members) + "}"
        case list():
            return "[" + ",".join(write_json(item) for item in value) + "]"
        case DuplicateKey():
            return write_json(value.first)
    return json.dumps(value)


@st.composite
def mutate(draw: st.DrawFn, shape: Any) -> Any:
    for _ in range(draw(st.integers(0, 3))):
        path = draw(st.sampled_from([path for path in value_paths(shape) if not _path_through_duplicates(shape, path)]))
        kind = draw(st.sampled_from(["else", "else", "else", "gone", "twice", "beside", "many"]))
        shape = change_at(shape, path, kind, draw(ANYTHING))
    return shape


def _path_through_duplicates(shape: Any, path: tuple[Any, ...]) -> bool:
    for name in path[:-1]:
        shape = shape[name]
    return isinstance(shape, DuplicateKey)


@st.composite
def bodies(draw: st.DrawFn, shape: Any) -> str | bytes | None:
    """A body: text, or bytes that are sent as base64."""
    text = write_json(draw(mutate(shape)))
    match draw(
        st.sampled_from(["whole", "whole", "whole", "whole", "cut", "bytes", "flipped", "none", "bom", "twice"])
    ):
        case "cut":
            return text[: draw(st.integers(0, max(0, len(text) - 1)))]
        case "bytes":
            return text.encode("utf-8", "surrogatepass")
        case "flipped":
            raw = bytearray(text.encode("utf-8", "surrogatepass"))
            for place in draw(st.lists(st.integers(0, max(0, len(raw) - 1)), max_size=4)) if raw else []:
                raw[place] = draw(st.integers(0, 255))
            return bytes(raw)
        case "none":
            return draw(st.sampled_from([None, "", b"", b"\xff\xfe", b"\x1f\x8b\x08"]))
        case "bom":
            return "\ufeff" + text
        case "twice":
            return text + text
    return text


VALUES = st.sampled_from(
    [text for text in ODD_VALUES if len(text) < 300 and text.isprintable() and "\ud800" not in text]
) | st.text(st.characters(min_codepoint=32, max_codepoint=255, exclude_characters="\x7f"), max_size=20)
NAMES = st.sampled_from(
    [
        *("A2A-Version", "A2A-Extensions", "X-A2A-Extensions", "Accept", "Accept-Encoding", "Authorization"),
        *("Content-Encoding", "Content-Length", "Content-Type", "Cookie", "Expect", "Host", "Idempotency-Key"),
        *("If-None-Match", "If-Modified-Since", "Mcp-Method", "Mcp-Name", "Mcp-Session-Id", "MCP-Protocol-Version"),
        *("Origin", "Range", "Transfer-Encoding", "X-Forwarded-Host", "X-Forwarded-Port", "X-Forwarded-Proto"),
        *("Last-Event-ID", "X-HTTP-Method-Override", "X-Amzn-Trace-Id"),
    ]
)
KNOWN = st.sampled_from(
    [
        *("1.0", "0.3", "0.3.0", "2.0", "1.0.0.0.dev1", "v1", "1.0, 0.3", "2025-11-25", "2026-07-28"),
        *("gzip", "chunked", "0", "*", "text/event-stream", "100-continue", "bytes=0-1", "https://a.example"),
        *("a:b:c", "host:port", "[::1]:80", "[", "multipart/form-data; boundary=a", "text/plain; charset=utf-7"),
        *("application/x-www-form-urlencoded", "Bearer", '"', 'W/"a", *'),
    ]
)
HEADERS = st.dictionaries(NAMES, VALUES | KNOWN, max_size=3)
QUERY_NAMES = [
    *("historyLength", "pageSize", "pageToken", "contextId", "status", "statusTimestampAfter", "includeArtifacts"),
    *("A2A-Version", "id", "tenant", "a[0]", "$"),
]
QUERIES = st.lists(st.tuples(st.sampled_from(QUERY_NAMES) | TEXTS, TEXTS), max_size=3).map(
    lambda pairs: "&".join(f"{name}={value}" for name, value in pairs).encode("utf-8", "replace").decode()
)
HTTP_METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "CONNECT", "get", "")
SEGMENTS = [text for text in ODD_VALUES if len(text) < 300 and "\ud800" not in text]


@st.composite
def paths(draw: st.DrawFn, known: list[str]) -> str:
    """Paths of the agent with arbitrary ids, and variations of them."""
    path = draw(st.sampled_from(known))
    while "{id}" in path:
        path = path.replace(
            "{id}",
            draw(st.sampled_from([*known, TASK, *(text for text in SEGMENTS if "{id}" not in text)])).replace(
                "{id}", "x"
            ),
            1,
        )
    match draw(st.sampled_from(["as it is"] * 6 + ["slash", "slashes", "dots", "tenant", "quoted", "more", "case"])):
        case "slash":
            return path + "/"
        case "slashes":
            return path.replace("/", "//")
        case "dots":
            return f"/x/..{path}"
        case "tenant":
            return f"/{draw(st.sampled_from(SEGMENTS))}{path}"
        case "quoted":
            return path.replace("s", "%73").replace(":", "%3A")
        case "more":
            return f"{path}/{draw(st.sampled_from(SEGMENTS))}"
        case "case":
            return path.upper()
    return path


@st.composite
def events(draw: st.DrawFn, method: str, path: str, body: str | bytes | None, version: str = "") -> dict[str, Any]:
    """An event of one of the gateways, mostly with a token and matching headers."""
    headers = {"Content-Type": "application/json", **({"A2A-Version": version} if version else {})}
    headers |= auth_headers("alice") if draw(st.integers(0, 9)) else {}
    headers |= draw(HEADERS)
    make = draw(st.sampled_from([rest_event, http_event]))
    sent = body.encode("utf-8", "surrogatepass") if isinstance(body, str) and "\ud800" in body else body
    event = make(method, path, sent, headers, query=draw(QUERIES))
    if draw(st.integers(0, 19)) == 0:
        event["body"], event["isBase64Encoded"] = draw(st.sampled_from(["?", "YQ", "_", "Y", "é", None])), True
    if make is rest_event and draw(st.integers(0, 19)) == 0:
        event |= draw(
            st.sampled_from(
                [{"version": "1.0"}, {"multiValueHeaders": None}, {"multiValueHeaders": None, "headers": None}]
            )
        )
    return dict(event)
